from django.db import migrations, models

# Web processes of the version before this one write no places in the feed, until they are restarted. Our own
# moves write them, so the triggers leave those as they are. A site without conversations needs none. The next
# version drops them.
FUNCTION = """
    CREATE FUNCTION surveys_tell_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.changed_in := CASE WHEN NEW.is_settled THEN pg_current_xact_id()::text::bigint ELSE 0 END;
        RETURN NEW;
    END $$;
"""
TRIGGERS = """
    CREATE TRIGGER conversation_tells_begin BEFORE INSERT ON surveys_conversation FOR EACH ROW
    WHEN (NEW.is_listed AND NEW.changed_in IS NULL)
    EXECUTE FUNCTION surveys_tell_change();
    CREATE TRIGGER conversation_tells_change BEFORE UPDATE ON surveys_conversation FOR EACH ROW
    WHEN (NEW.changed_in IS NOT DISTINCT FROM OLD.changed_in
        AND (NEW.is_listed OR OLD.changed_in IS NOT NULL)
        AND (NEW.state, NEW.user_id) IS DISTINCT FROM (OLD.state, OLD.user_id))
    EXECUTE FUNCTION surveys_tell_change();
"""
KEEP_TOLD = f"""
    DO $do$ BEGIN
        IF EXISTS (SELECT FROM surveys_conversation) THEN
            {TRIGGERS}
        END IF;
    END $do$
"""
LET_GO = """
    DROP TRIGGER IF EXISTS conversation_tells_begin ON surveys_conversation;
    DROP TRIGGER IF EXISTS conversation_tells_change ON surveys_conversation;
    DROP FUNCTION surveys_tell_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0023_give_anonymous_gifts_later"),
    ]

    operations = [
        migrations.CreateModel(
            name="DeletedResponse",
            fields=[
                ("response_id", models.UUIDField(primary_key=True, serialize=False)),
                ("community_id", models.BigIntegerField()),
                ("project_id", models.BigIntegerField()),
                ("changed_in", models.BigIntegerField()),
                ("due_at", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["project_id", "changed_in", "response_id"], name="deletion_of_project"
                    ),
                    models.Index(
                        fields=["community_id", "changed_in", "response_id"], name="deletion_of_community"
                    ),
                    models.Index(fields=["due_at"], name="deletion_due"),
                ],
            },
        ),
        migrations.AddField(
            model_name="conversation",
            name="changed_in",
            field=models.BigIntegerField(
                blank=True,
                help_text="Where its last change stands in the feed: a transaction's number, 0 until it is settled.",
                null=True,
            ),
        ),
        migrations.RunSQL(FUNCTION, migrations.RunSQL.noop),
        migrations.RunSQL(KEEP_TOLD, LET_GO),
    ]
