from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("communities", "0001_initial"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="member",
            index=models.Index(
                condition=models.Q(("left_at__isnull", False)),
                fields=["community", "id"],
                name="member_who_left",
            ),
        ),
    ]
