from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0029_keep_graded_answers"),
    ]

    operations = [
        migrations.AlterField(
            model_name="conversation",
            name="provider",
            field=models.CharField(
                choices=[
                    ("chat", "Chat"),
                    ("video", "Video"),
                    ("streaming", "Streaming"),
                    ("game_store", "Game Store"),
                    ("membership", "Membership"),
                    ("web", "Web"),
                    ("import", "Import"),
                ],
                default="web",
                max_length=10,
            ),
        ),
    ]
