from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# An index that is made concurrently waits for every older transaction, a backup's of hours too. The time for
# which a connection of ours waits for locks (config/environment.py) would end that and leave an index behind
# that is never used, has to be written all the same, and whose name is taken when it is tried again.
WAIT, WAIT_AS_BEFORE = "SET lock_timeout = 0", "RESET lock_timeout"


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0007_make_scripts_analyse_and_share_results"),
    ]

    operations = [
        migrations.RunSQL(WAIT, WAIT_AS_BEFORE),
        # What an earlier try left behind.
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS conversation_unfinished", migrations.RunSQL.noop
        ),
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("completed_at__isnull", True)),
                fields=["project"],
                name="conversation_unfinished",
            ),
        ),
        migrations.RunSQL(WAIT_AS_BEFORE, WAIT),
    ]
