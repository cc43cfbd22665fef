from django.db import migrations

UNSETTLE = """
    UPDATE surveys_conversation SET is_settled = FALSE
    WHERE project_id IN (SELECT id FROM surveys_project WHERE privacy_mode = 'anonymous')
"""


class Migration(migrations.Migration):
    """What was answered until now is settled by the next run of the task, as all that is answered later."""

    dependencies = [
        ("surveys", "0004_tell_settled_conversations"),
    ]

    operations = [
        migrations.RunSQL(UNSETTLE, migrations.RunSQL.noop),
    ]
