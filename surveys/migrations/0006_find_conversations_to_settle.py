from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0005_settle_what_is_anonymous"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("is_settled", False)),
                fields=["started_at"],
                name="conversation_to_settle",
            ),
        ),
    ]
