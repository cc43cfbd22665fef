from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('surveys', '0041_note_changes_of_projects'),
    ]

    operations = [
        migrations.AddField(
            model_name='publicmessage',
            name='is_deleted',
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text='The message was deleted on the platform: it is not posted again by itself.',
            ),
        ),
    ]
