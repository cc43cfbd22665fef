from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0002_score_scripts_and_fire_actions_once"),
    ]

    operations = [
        migrations.RunSQL(
            "UPDATE surveys_project SET script_is_scored = TRUE WHERE scoring_enabled AND revision > 0",
            migrations.RunSQL.noop,
        ),
    ]
