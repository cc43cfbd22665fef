from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0014_show_anonymous_figures_in_steps"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("is_listed", True)),
                fields=["project", "updated_at", "id"],
                include=["completed_at"],
                name="response_by_change",
            ),
        ),
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("is_listed", True)),
                fields=["project", "provider", "id"],
                include=["completed_at"],
                name="response_by_provider",
            ),
        ),
    ]
