from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("stalling", "0003_find_things")]
    operations = [
        migrations.CreateModel("Other", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddField("thing", "more", models.IntegerField(null=True)),
    ]
