from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

# Why: see 0008.
WAIT, WAIT_AS_BEFORE = "SET lock_timeout = 0", "RESET lock_timeout"


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0008_find_unfinished_conversations"),
    ]

    operations = [
        migrations.RunSQL(WAIT, WAIT_AS_BEFORE),
        # What an earlier try left behind. Each in a statement of its own, as it must not be in a transaction.
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS answer_by_block",
                "DROP INDEX CONCURRENTLY IF EXISTS answer_by_number",
            ],
            migrations.RunSQL.noop,
        ),
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
        # And what a try to go back left behind.
        migrations.RunSQL(
            migrations.RunSQL.noop, "DROP INDEX CONCURRENTLY IF EXISTS answer_for_distributions"
        ),
        migrations.RunSQL(WAIT_AS_BEFORE, WAIT),
    ]
