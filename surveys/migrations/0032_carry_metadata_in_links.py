from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0031_keep_scores_of_analyses"),
    ]

    operations = [
        migrations.AddField(
            model_name="personallink",
            name="sealed_metadata",
            field=models.BinaryField(null=True, blank=True, help_text="What it carries along, encrypted."),
        ),
    ]
