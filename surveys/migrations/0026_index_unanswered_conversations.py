from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the index is built without a lock on its table

    dependencies = [("surveys", "0025_texts_of_reminders")]

    operations = [
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("completed_at__isnull", True), ("is_listed", False)),
                fields=["updated_at", "id"],
                name="conversation_unanswered",
            ),
        ),
    ]
