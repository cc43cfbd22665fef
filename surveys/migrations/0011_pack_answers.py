from django.db import migrations, models

CONVERSATIONS_AT_ONCE = 5_000
# `surveys.engine.packing` says what the records are.
RECORDS = """
    SELECT coalesce(string_agg(
        CASE
            WHEN option_id IS NOT NULL THEN int8send(option_id << 8 | 32 | least(ordinal, 31))
            WHEN number IS NULL THEN int8send(block_id << 8 | 64)
            WHEN number BETWEEN 0 AND 20 AND number = floor(number) THEN
                int8send(block_id << 8 | 96 | number::int)
            ELSE int8send(block_id << 8 | 128)
                || '\\x000000'::bytea || substr(float8send(number), 1, 4) || '\\xa0'::bytea
                || '\\x000000'::bytea || substr(float8send(number), 5, 4) || '\\xc0'::bytea
        END, ''::bytea
    ), ''::bytea)
    FROM surveys_answer WHERE conversation_id =
"""
# Locked in one statement and packed in the next, which sees what was answered until the lock. What is being
# answered at this moment is left to be packed by its next move.
LOCK = """
    SELECT id FROM surveys_conversation
    WHERE packed IS NULL AND id > %s ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
PACK = f"""
    UPDATE surveys_conversation c SET packed = ({RECORDS} c.id) WHERE id = ANY(%s)
"""
# Web processes of the version before this one write the state without packing, until they are restarted. Our
# own moves change both, unless they change nothing that is packed: a skip, or another text.
KEEP_EQUAL = [
    f"""
    CREATE OR REPLACE FUNCTION surveys_pack() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE surveys_conversation SET packed = ({RECORDS} NEW.id) WHERE id = NEW.id;
        RETURN NULL;
    END $$
    """,
    "DROP TRIGGER IF EXISTS conversation_packs ON surveys_conversation",
    """
    CREATE TRIGGER conversation_packs AFTER UPDATE OF state ON surveys_conversation FOR EACH ROW
    WHEN (NEW.packed IS NOT DISTINCT FROM OLD.packed
        AND NEW.state->'answers' IS DISTINCT FROM OLD.state->'answers')
    EXECUTE FUNCTION surveys_pack()
    """,
]
LET_GO = [
    "DROP TRIGGER IF EXISTS conversation_packs ON surveys_conversation",
    "DROP FUNCTION IF EXISTS surveys_pack()",
]


def pack(apps, schema_editor):
    """Some thousand at a time, each in a transaction of its own: 50 s for a million."""
    from django.db import transaction

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
    atomic = False  # so that each batch is committed, and nobody waits for a lock

    dependencies = [
        ("surveys", "0010_remember_public_projects"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="packed",
            field=models.BinaryField(
                blank=True,
                help_text="All answers, packed for counting; null: not packed yet, so their rows are counted.",
                null=True,
            ),
        ),
        migrations.RunSQL(KEEP_EQUAL, LET_GO),
        migrations.RunPython(pack, migrations.RunPython.noop),
    ]
