"""What the database itself holds for projects."""

from django.db import migrations

# The database keeps the time of a project's last change. Every column counts, also those to come, but for the two
# that the interface does not show. Each write of a script counts too: it raises `revision`.
CHANGES_OF_PROJECTS = """
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


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(
            CHANGES_OF_PROJECTS,
            "DROP FUNCTION surveys_note_change_of_project() CASCADE",
        ),
    ]
