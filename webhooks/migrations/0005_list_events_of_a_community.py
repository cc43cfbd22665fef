from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("webhooks", "0004_keep_events_that_nobody_listens_to"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                fields=["community", "-created_at", "-id"], name="event_newest_of_community"
            ),
        ),
    ]
