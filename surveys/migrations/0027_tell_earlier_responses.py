from django.db import migrations, transaction

CONVERSATIONS_AT_ONCE = 5_000
# What is being answered at this moment gets its place by its own move. Responses from before stand at the
# beginning of the feed, by their ids; those of anonymous projects follow once they are settled.
LOCK = """
    SELECT id FROM surveys_conversation
    WHERE is_listed AND changed_in IS NULL AND id > %s ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
TELL = """
    UPDATE surveys_conversation SET changed_in = CASE WHEN is_settled THEN 1 ELSE 0 END
    WHERE id = ANY(%s) AND changed_in IS NULL
"""


def tell(apps, schema_editor):
    """Some thousand at a time, each in a transaction of its own."""
    last = "00000000-0000-0000-0000-000000000000"
    while True:
        with transaction.atomic(schema_editor.connection.alias), schema_editor.connection.cursor() as cursor:
            cursor.execute(LOCK, [last, CONVERSATIONS_AT_ONCE])
            ids = [row[0] for row in cursor.fetchall()]
            if not ids:
                return
            cursor.execute(TELL, [ids])
            last = ids[-1]


class Migration(migrations.Migration):
    """Repeatable: if it is interrupted, the next `migrate` goes on with what is left."""

    atomic = False  # so that each batch is committed, and nobody waits for a lock

    dependencies = [
        ("surveys", "0026_tell_of_erasures_later"),
    ]

    operations = [
        migrations.RunPython(tell, migrations.RunPython.noop),
    ]
