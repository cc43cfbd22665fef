import uuid

from django.contrib.postgres.functions import RandomUUID
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0036_find_pictures_of_scripts"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="family",
            field=models.UUIDField(
                db_default=RandomUUID(),
                db_index=True,
                default=uuid.uuid4,
                editable=False,
                help_text="The same for a project and the copies that its own community made of it.",
            ),
        ),
    ]
