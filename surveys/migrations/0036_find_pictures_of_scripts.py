from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("surveys", "0035_name_erased_staff_in_planned_deletions"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="block",
            index=models.Index(
                condition=models.Q(("image_url__isnull", False), ("thumbnail_url__isnull", False), _connector="OR"),
                fields=["project"],
                name="block_with_picture",
            ),
        ),
    ]
