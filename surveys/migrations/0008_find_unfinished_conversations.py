from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0007_make_scripts_analyse_and_share_results"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("completed_at__isnull", True)),
                fields=["project"],
                name="conversation_unfinished",
            ),
        ),
    ]
