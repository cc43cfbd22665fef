from django.db import migrations, transaction

ROWS_AT_ONCE = 5_000
FILL = """
    WITH batch AS (
        SELECT id, member_id FROM {table} WHERE id > %s ORDER BY id LIMIT %s FOR NO KEY UPDATE
    ), filled AS (
        UPDATE {table} AS earned SET community_id = member.community_id
        FROM batch JOIN communities_member AS member ON member.id = batch.member_id
        WHERE earned.id = batch.id AND earned.community_id IS NULL
    )
    SELECT max(id) FROM batch
"""


def fill(apps, schema_editor):
    """Some thousand rows at a time, each batch in a transaction of its own, so that no writer waits for long."""
    for table in ("xp_earnedachievement", "xp_rolegrant"):
        last = 0
        while last is not None:
            with transaction.atomic(schema_editor.connection.alias), schema_editor.connection.cursor() as cursor:
                cursor.execute(FILL.format(table=table), [last, ROWS_AT_ONCE])
                (last,) = cursor.fetchone()


class Migration(migrations.Migration):
    """Repeatable: if it is interrupted, the next `migrate` fills what is left."""

    atomic = False  # so that each batch is committed

    dependencies = [
        ("xp", "0004_name_the_community_of_what_is_earned"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
