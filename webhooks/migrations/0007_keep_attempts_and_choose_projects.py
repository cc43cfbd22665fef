import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0006_tell_of_updates_and_erasures"),
    ]

    operations = [
        migrations.AddField(
            model_name="delivery",
            name="attempts",
            field=models.JSONField(
                db_default=models.Value([], models.JSONField()),
                default=list,
                help_text="Every attempt, oldest first: its time, the status of the response, and how long it took.",
            ),
        ),
        migrations.AddField(
            model_name="webhook",
            name="project_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                blank=True,
                help_text="Only events about these projects, and those about none; null: about all.",
                null=True,
                size=None,
            ),
        ),
    ]
