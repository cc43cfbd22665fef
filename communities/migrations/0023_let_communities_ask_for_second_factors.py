"""A community may ask its staff for a second factor."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('communities', '0022_keep_copies_of_pictures'),
    ]

    operations = [
        migrations.AddField(
            model_name='communitysettings',
            name='require_second_factor',
            field=models.BooleanField(db_default=False, default=False, help_text="Staff need an authenticator app or a passkey for the pages of the community's staff."),
        ),
    ]
