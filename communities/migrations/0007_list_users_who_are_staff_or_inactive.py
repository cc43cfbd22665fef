from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("communities", "0006_find_members_and_communities_by_name"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="user",
            index=models.Index(
                condition=models.Q(("is_staff", True)), fields=["-id"], name="user_newest_staff"
            ),
        ),
        AddIndexConcurrently(
            model_name="user",
            index=models.Index(
                condition=models.Q(("is_active", False)), fields=["-id"], name="user_newest_inactive"
            ),
        ),
    ]
