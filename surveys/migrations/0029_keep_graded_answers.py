from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0028_find_changes_of_responses"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="lock_graded_answers",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="An answer stays once its respondent has seen whether it is right.",
            ),
        ),
    ]
