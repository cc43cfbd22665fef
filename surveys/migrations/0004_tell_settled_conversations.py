from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0003_count_scores_written_already"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="is_settled",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="False until an anonymous row has been rewritten to hide its write order.",
            ),
        ),
    ]
