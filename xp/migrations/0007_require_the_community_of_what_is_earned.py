import django.db.models.deletion
from django.db import migrations, models

# A checked constraint proves to PostgreSQL that no row is empty, so that it reads none under the lock of
# SET NOT NULL.
PROVE = """
    ALTER TABLE {table} DROP CONSTRAINT IF EXISTS names_community;
    ALTER TABLE {table} ADD CONSTRAINT names_community CHECK (community_id IS NOT NULL) NOT VALID
"""
CHECK = "ALTER TABLE {table} VALIDATE CONSTRAINT names_community"
# Django would drop the foreign key for this and check it anew.
REQUIRE = "ALTER TABLE {table} ALTER COLUMN community_id SET NOT NULL"
LET_GO = "ALTER TABLE {table} ALTER COLUMN community_id DROP NOT NULL"
FORGET = "ALTER TABLE {table} DROP CONSTRAINT IF EXISTS names_community"
MODELS = ("earnedachievement", "rolegrant")


def each_table(statement):
    return [migrations.RunSQL(statement.format(table=f"xp_{model}"), migrations.RunSQL.noop) for model in MODELS]


class Migration(migrations.Migration):
    atomic = False  # so that no lock is held while rows are read

    dependencies = [
        ("xp", "0006_find_what_is_earned_in_a_community"),
    ]

    operations = [
        *each_table(PROVE),
        *each_table(CHECK),
        *(
            migrations.SeparateDatabaseAndState(
                [migrations.RunSQL(REQUIRE.format(table=f"xp_{model}"), LET_GO.format(table=f"xp_{model}"))],
                [
                    migrations.AlterField(
                        model_name=model,
                        name="community",
                        field=models.ForeignKey(
                            db_index=False,
                            on_delete=django.db.models.deletion.CASCADE,
                            related_name="+",
                            to="communities.community",
                        ),
                    )
                ],
            )
            for model in MODELS
        ),
        *each_table(FORGET),
    ]
