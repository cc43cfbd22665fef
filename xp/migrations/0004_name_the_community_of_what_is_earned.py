import django.db.models.deletion
from django.db import migrations, models

# Processes of an earlier version go on writing during an upgrade and do not know the column. The next version
# drops this.
FILL_IN = """
    CREATE FUNCTION xp_name_community() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.community_id := (SELECT member.community_id FROM communities_member member
                             WHERE member.id = NEW.member_id);
        RETURN NEW;
    END $$;
    CREATE TRIGGER names_community BEFORE INSERT ON xp_earnedachievement
        FOR EACH ROW WHEN (NEW.community_id IS NULL) EXECUTE FUNCTION xp_name_community();
    CREATE TRIGGER names_community BEFORE INSERT ON xp_rolegrant
        FOR EACH ROW WHEN (NEW.community_id IS NULL) EXECUTE FUNCTION xp_name_community();
"""
LET_GO = """
    DROP TRIGGER names_community ON xp_earnedachievement;
    DROP TRIGGER names_community ON xp_rolegrant;
    DROP FUNCTION xp_name_community();
"""

ADD = [
    migrations.AddField(
        model_name=model,
        name="community",
        field=models.ForeignKey(
            db_index=False,
            null=True,
            on_delete=django.db.models.deletion.CASCADE,
            related_name="+",
            to="communities.community",
        ),
    )
    for model in ("earnedachievement", "rolegrant")
]


class Migration(migrations.Migration):
    dependencies = [
        ("communities", "0003_record_rotations"),
        ("xp", "0003_know_who_awarded_by_hand"),
    ]

    operations = [
        *ADD,
        migrations.RunSQL(FILL_IN, LET_GO),
    ]
