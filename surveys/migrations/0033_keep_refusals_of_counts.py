from django.db import migrations, models
from django.db.models.functions import MD5


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0032_carry_metadata_in_links"),
    ]

    operations = [
        migrations.AddField(
            model_name="resultscount",
            name="violations",
            field=models.JSONField(
                blank=True,
                help_text="What it was refused for, as in the API; null if it was not refused.",
                null=True,
            ),
        ),
        # Rows live for an hour, so the table is small and its index is built in no time.
        migrations.RemoveConstraint(
            model_name="resultscount",
            name="results_are_counted_once_at_a_time",
        ),
        migrations.AddConstraint(
            model_name="resultscount",
            constraint=models.UniqueConstraint(
                "project",
                MD5("part"),
                "revision",
                condition=models.Q(("status__in", ["pending", "running"])),
                name="results_are_counted_once_at_a_time",
            ),
        ),
    ]
