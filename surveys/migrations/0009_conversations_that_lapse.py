from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the index is built without a lock on its table

    dependencies = [
        ("surveys", "0008_unsent_answers"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                fields=["updated_at"],
                condition=models.Q(completed_at__isnull=True, state__has_key="lapses"),
                name="conversation_that_lapses",
            ),
        ),
    ]
