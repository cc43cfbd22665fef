from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("surveys", "0026_index_unanswered_conversations")]

    operations = [
        migrations.AddField("block", "video_url", models.URLField(blank=True, max_length=2048, null=True)),
    ]
