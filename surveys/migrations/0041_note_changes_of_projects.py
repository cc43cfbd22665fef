"""Keeps the time of a project's last change, in the database, so that nothing that writes a project forgets it.

Projects from before have the time of this migration: nobody knows when they last changed.
"""

import django.db.models.functions.datetime
from django.db import migrations, models

# Every column counts, also those to come, but for the two that the interface does not show. Each write of a
# script counts too: it raises `revision`.
NOTE_CHANGES = """
CREATE FUNCTION surveys_note_change_of_project() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    hidden CONSTANT text[] := ARRAY['updated_at', 'was_open_to_web'];
BEGIN
    IF to_jsonb(NEW) - hidden IS DISTINCT FROM to_jsonb(OLD) - hidden THEN
        NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at);
    ELSE
        NEW.updated_at := OLD.updated_at;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER project_notes_its_change BEFORE UPDATE ON surveys_project
    FOR EACH ROW EXECUTE FUNCTION surveys_note_change_of_project();
"""
FORGET_CHANGES = """
DROP TRIGGER project_notes_its_change ON surveys_project;
DROP FUNCTION surveys_note_change_of_project();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0040_describe_pictures"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="updated_at",
            field=models.DateTimeField(
                db_default=django.db.models.functions.datetime.Now(),
                editable=False,
                help_text="When its settings, state or script last changed. The database keeps it.",
            ),
        ),
        migrations.RunSQL(NOTE_CHANGES, FORGET_CHANGES),
        migrations.AddIndex(
            model_name="project",
            index=models.Index(fields=["community", "updated_at"], name="project_by_change"),
        ),
        migrations.AddIndex(
            model_name="project",
            index=models.Index(fields=["community", "id"], name="project_by_id"),
        ),
    ]
