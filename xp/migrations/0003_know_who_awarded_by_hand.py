"""Entries keep the id of who made them in place of a name, which would outlive the person."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("communities", "0001_initial"),
        ("xp", "0002_only_add_to_the_ledger"),
    ]

    operations = [
        migrations.RemoveField("xpentry", "actor_name"),
        migrations.AddField(
            "xpentry",
            "actor",
            models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                help_text="Who gave or took it by hand.",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddIndex(
            "xpentry",
            models.Index(
                condition=models.Q(("actor__isnull", False)), fields=["actor"], name="xp_entry_of_actor"
            ),
        ),
    ]
