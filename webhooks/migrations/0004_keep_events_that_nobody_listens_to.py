import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Each answer writes an event now, so the events no longer lock the one row of their community."""

    dependencies = [
        ("communities", "0002_find_members_who_left"),
        ("webhooks", "0003_list_events_by_type"),
    ]

    operations = [
        migrations.AlterField(
            model_name="event",
            name="community",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="communities.community",
            ),
        ),
    ]
