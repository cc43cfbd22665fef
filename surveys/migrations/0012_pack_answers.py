from django.db import migrations, models

# The records are those of `surveys.engine.packing`, as they were when this migration was written.
FUNCTIONS = r"""
    CREATE FUNCTION surveys_packed_answers(uuid) RETURNS bytea LANGUAGE sql STABLE AS $$
        SELECT coalesce(string_agg(
            CASE
                WHEN option_id IS NOT NULL THEN int8send(option_id << 8 | 32 | least(ordinal, 31))
                WHEN number IS NULL THEN int8send(block_id << 8 | 64)
                WHEN number BETWEEN 0 AND 20 AND number = floor(number) THEN
                    int8send(block_id << 8 | 96 | number::int)
                ELSE int8send(block_id << 8 | 128)
                    || '\x000000'::bytea || substr(float8send(number), 1, 4) || '\xa0'::bytea
                    || '\x000000'::bytea || substr(float8send(number), 5, 4) || '\xc0'::bytea
            END, ''::bytea), ''::bytea)
        FROM surveys_answer WHERE conversation_id = $1
    $$;
    CREATE FUNCTION surveys_pack() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE surveys_conversation SET packed = surveys_packed_answers(id) WHERE id = NEW.id;
        RETURN NULL;
    END $$;
"""
# Web processes of the version before this one write the state without packing, until they are restarted. Our
# own moves change both, unless they change nothing that is packed: a skip, or another text. A site without
# conversations needs no trigger, which costs each answer 0.2 ms of CPU. The next version drops it.
TRIGGER = """
    CREATE TRIGGER conversation_packs AFTER UPDATE OF state ON surveys_conversation FOR EACH ROW
    WHEN (NEW.packed IS NOT DISTINCT FROM OLD.packed
        AND NEW.state->'answers' IS DISTINCT FROM OLD.state->'answers')
    EXECUTE FUNCTION surveys_pack();
"""
KEEP_EQUAL = f"""
    DO $do$ BEGIN
        IF EXISTS (SELECT FROM surveys_conversation) THEN
            {TRIGGER}
        END IF;
    END $do$
"""
LET_GO = """
    DROP TRIGGER IF EXISTS conversation_packs ON surveys_conversation;
    DROP FUNCTION surveys_pack();
    DROP FUNCTION surveys_packed_answers(uuid);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0011_find_earlier_public_projects"),
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
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
        migrations.RunSQL(KEEP_EQUAL, LET_GO),
    ]
