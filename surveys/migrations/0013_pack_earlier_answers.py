from django.db import migrations, transaction

CONVERSATIONS_AT_ONCE = 5_000
# Locked in one statement and packed in the next, which sees what was answered until the lock. What is being
# answered at this moment is left to be packed by its next move.
LOCK = """
    SELECT id FROM surveys_conversation
    WHERE packed IS NULL AND id > %s ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
PACK = "UPDATE surveys_conversation SET packed = surveys_packed_answers(id) WHERE id = ANY(%s)"


def pack(apps, schema_editor):
    """Some thousand at a time, each in a transaction of its own: about a minute for a million."""
    last = "00000000-0000-0000-0000-000000000000"
    while True:
        with transaction.atomic(schema_editor.connection.alias), schema_editor.connection.cursor() as cursor:
            cursor.execute(LOCK, [last, CONVERSATIONS_AT_ONCE])
            ids = [row[0] for row in cursor.fetchall()]
            if not ids:
                return
            cursor.execute(PACK, [ids])
            last = ids[-1]


class Migration(migrations.Migration):
    """Alone and repeatable: if it is interrupted, the next `migrate` packs what is left."""

    atomic = False  # so that each batch is committed, and nobody waits for a lock

    dependencies = [
        ("surveys", "0012_pack_answers"),
    ]

    operations = [
        migrations.RunPython(pack, migrations.RunPython.noop),
    ]
