from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # an index is made concurrently outside of a transaction alone

    dependencies = [
        ("communities", "0010_keep_what_the_chat_platform_tells"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="member",
            index=models.Index(
                condition=models.Q(("left_at__isnull", True), ("roles_told_at__isnull", False)),
                fields=["roles_told_at"],
                name="member_by_age_of_roles",
            ),
        ),
    ]
