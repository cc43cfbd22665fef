from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("webhooks", "0002_remember_that_it_was_on"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(fields=["type", "-created_at", "-id"], name="event_newest_of_type"),
        ),
    ]
