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
    ]
