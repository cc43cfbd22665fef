from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("surveys", "0024_responses_that_are_screened_out")]

    operations = [
        migrations.AddField("reminder", "subject", models.CharField(blank=True, db_default="", max_length=150)),
        migrations.AddField("reminder", "text", models.TextField(blank=True, db_default="")),
    ]
