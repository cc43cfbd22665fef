import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("communities", "0014_remember_merged_users"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="user",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("merged_ids__isnull", False)),
                fields=["merged_ids"],
                name="user_by_merged_id",
            ),
        ),
    ]
