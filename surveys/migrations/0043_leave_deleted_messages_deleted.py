from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('surveys', '0040_describe_pictures'),
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
