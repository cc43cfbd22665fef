from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0009_count_answers_from_two_indexes"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="was_open_to_web",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="It has been live while everybody with the address could answer.",
            ),
        ),
        # Nobody has recorded past openings. A project with responses was open once; one that was closed again
        # without a response has to be opened again before others can clone it.
        migrations.RunSQL(
            """
            UPDATE surveys_project AS project SET was_open_to_web = TRUE
            WHERE participation = 'open_web' AND (
                status = 'active' OR opens_at <= now()
                OR EXISTS (SELECT FROM surveys_conversation WHERE project_id = project.id)
            )
            """,
            migrations.RunSQL.noop,
        ),
    ]
