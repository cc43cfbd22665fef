from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0027_tell_earlier_responses"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("changed_in__gt", 0)),
                fields=["project", "changed_in", "id"],
                name="response_in_feed",
            ),
        ),
    ]
