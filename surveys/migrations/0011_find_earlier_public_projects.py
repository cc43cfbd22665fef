from django.db import migrations

# Nobody has recorded past openings. A project with responses was open once; one that was closed again
# without a response has to be opened again before others can clone it.
FIND = """
    UPDATE surveys_project AS project SET was_open_to_web = TRUE
    WHERE participation = 'open_web' AND (
        status = 'active' OR opens_at <= now()
        OR EXISTS (SELECT FROM surveys_conversation WHERE project_id = project.id)
    )
"""


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0010_remember_public_projects"),
    ]

    operations = [
        migrations.RunSQL(FIND, migrations.RunSQL.noop),
    ]
