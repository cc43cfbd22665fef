from django.db import migrations, models

_ADD = """
    ALTER TABLE surveys_conversation DROP CONSTRAINT IF EXISTS conversation_completed_or_screened_out;
    ALTER TABLE surveys_conversation ADD CONSTRAINT conversation_completed_or_screened_out
        CHECK (completed_at IS NULL OR is_listed OR outcome::text LIKE 'screened_out%') NOT VALID
"""


class Migration(migrations.Migration):
    atomic = False  # the rows are checked without a lock that stops moves

    dependencies = [("surveys", "0023_dashboards")]

    operations = [
        migrations.RunSQL(
            [
                _ADD,
                "ALTER TABLE surveys_conversation VALIDATE CONSTRAINT conversation_completed_or_screened_out",
                "ALTER TABLE surveys_conversation DROP CONSTRAINT IF EXISTS conversation_completed_is_listed",
            ],
            [
                "ALTER TABLE surveys_conversation DROP CONSTRAINT IF EXISTS conversation_completed_is_listed",
                "ALTER TABLE surveys_conversation ADD CONSTRAINT conversation_completed_is_listed"
                " CHECK (completed_at IS NULL OR is_listed)",
                "ALTER TABLE surveys_conversation"
                " DROP CONSTRAINT IF EXISTS conversation_completed_or_screened_out",
            ],
            state_operations=[
                migrations.RemoveConstraint("conversation", "conversation_completed_is_listed"),
                migrations.AddConstraint(
                    "conversation",
                    models.CheckConstraint(
                        condition=models.Q(
                            ("completed_at__isnull", True),
                            ("is_listed", True),
                            ("outcome__startswith", "screened_out"),
                            _connector="OR",
                        ),
                        name="conversation_completed_or_screened_out",
                    ),
                ),
                migrations.AlterField(
                    "conversation",
                    "is_listed",
                    models.BooleanField(
                        default=False,
                        help_text="The conversation has an answer or is completed, and was not screened out.",
                    ),
                ),
                migrations.AlterField(
                    "conversation",
                    "outcome",
                    models.CharField(
                        blank=True,
                        help_text="`full` or `full:<key of a quota>` if a limit refused its end, "
                        "`screened_out` or `screened_out:<key of an end>` if it was screened out, else null "
                        "(rules 6.290 and 6.410).",
                        max_length=48,
                        null=True,
                    ),
                ),
            ],
        ),
    ]
