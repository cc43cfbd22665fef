from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the indexes are built without a lock on their tables

    dependencies = [
        ("surveys", "0005_kinds_of_generation"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="project",
            index=models.Index(
                fields=["deleted_by"],
                condition=models.Q(deleted_by__isnull=False),
                name="project_deleted_by",
            ),
        ),
        AddIndexConcurrently(
            model_name="theme",
            index=models.Index(
                fields=["merged_into"],
                condition=models.Q(merged_into__isnull=False),
                name="theme_merged_into",
            ),
        ),
    ]
