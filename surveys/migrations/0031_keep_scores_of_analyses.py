from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0030_tell_imported_responses"),
    ]

    operations = [
        migrations.AddField(
            model_name="analysis",
            name="scores_as_json",
            field=models.TextField(
                blank=True,
                help_text="The `scores` of the API, as JSON; null where scoring was off.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="analysis",
            name="variables_as_json",
            field=models.TextField(
                blank=True, help_text="The `variables` of the API, as JSON.", null=True
            ),
        ),
    ]
