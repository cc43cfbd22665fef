from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the index is built without a lock on its table

    dependencies = [("surveys", "0017_end_and_sharing")]

    operations = [
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("is_suspected", True)), fields=["project", "id"], name="response_suspected"
            ),
        ),
    ]
