from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the index is built without a lock on its table

    dependencies = [("surveys", "0019_quotas_counted_by_a_worker")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE surveys_conversation ADD COLUMN IF NOT EXISTS outcome varchar(48)",
            "ALTER TABLE surveys_conversation DROP COLUMN IF EXISTS outcome",
            state_operations=[
                migrations.AddField(
                    model_name="conversation",
                    name="outcome",
                    field=models.CharField(
                        blank=True,
                        help_text="`full` or `full:<key of a quota>` if a limit refused its end, else null "
                        "(rule 6.290).",
                        max_length=48,
                        null=True,
                    ),
                )
            ],
        ),
        AddIndexConcurrently(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("outcome__isnull", False)),
                fields=["project", "outcome"],
                name="response_with_outcome",
            ),
        ),
    ]
