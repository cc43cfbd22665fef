from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("xp", "0005_fill_the_community_of_what_is_earned"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="earnedachievement",
            index=models.Index(fields=["community", "number", "-id"], name="achievement_earned_newest"),
        ),
        AddIndexConcurrently(
            model_name="rolegrant",
            index=models.Index(fields=["community", "-id"], name="role_grant_newest"),
        ),
        AddIndexConcurrently(
            model_name="rolegrant",
            index=models.Index(
                fields=["community", "-id"],
                condition=models.Q(("carried_out_at__isnull", True)),
                name="role_grant_waiting_newest",
            ),
        ),
    ]
