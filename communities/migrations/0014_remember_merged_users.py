import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("communities", "0013_connect_chat"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="merged_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                editable=False,
                help_text="Ids of users merged into this one, by which anonymous projects still know them.",
                null=True,
                size=None,
            ),
        ),
    ]
