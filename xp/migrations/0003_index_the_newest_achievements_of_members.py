from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the index is built without a lock on the table

    dependencies = [
        ("xp", "0002_functions_and_triggers"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="earnedachievement",
            index=models.Index(
                fields=["member", "-awarded_at", "-number"], name="achievement_newest_of_member"
            ),
        ),
    ]
