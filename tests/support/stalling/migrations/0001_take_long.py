from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel("Thing", [("id", models.BigAutoField(primary_key=True))]),
        migrations.RunSQL("SELECT pg_sleep(0.2)", migrations.RunSQL.noop),
    ]
