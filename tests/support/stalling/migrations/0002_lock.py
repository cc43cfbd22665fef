from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("stalling", "0001_take_long")]
    operations = [migrations.AddField("thing", "number", models.IntegerField(null=True))]
