from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("config", "0001_initial")]

    operations = [
        migrations.AddField(
            "keyfingerprint",
            "sealed_hash_root",
            models.BinaryField(help_text="Encrypted with SECRET_KEY.", null=True),
        )
    ]
