from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("stalling", "0002_lock")]
    operations = [AddIndexConcurrently("thing", models.Index(fields=["number"], name="thing_by_number"))]
