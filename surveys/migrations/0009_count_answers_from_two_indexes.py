from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0008_find_unfinished_conversations"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="answer",
            index=models.Index(fields=["block", "option", "ordinal"], name="answer_by_block"),
        ),
        AddIndexConcurrently(
            model_name="answer",
            index=models.Index(
                condition=models.Q(("option__isnull", True)),
                fields=["block", "number"],
                name="answer_by_number",
            ),
        ),
        RemoveIndexConcurrently(
            model_name="answer",
            name="answer_for_distributions",
        ),
    ]
