from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("surveys", "0009_conversations_that_lapse"),
    ]

    operations = [
        migrations.AddField(
            model_name="unsentanswer",
            name="follow_up",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="The number of the further question. 0: the answer is to the block itself.",
            ),
        ),
    ]
