"""Messages to compare with their votes have an index: all closed ones were read every two seconds."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0042_leave_deleted_messages_deleted"),
    ]

    operations = [
        migrations.AddField(
            model_name="publicmessage",
            name="recounts",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name="publicmessage",
            index=models.Index(
                condition=models.Q(("is_open", True), ("recounts__gt", 0), _connector="OR"),
                fields=["project"],
                name="public_message_compared",
            ),
        ),
    ]
