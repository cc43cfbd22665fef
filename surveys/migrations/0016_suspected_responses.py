from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("surveys", "0015_brands_of_projects")]

    operations = [
        migrations.CreateModel(
            name="ProofCount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "day", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        related_name="+",
                        to="surveys.project",
                    ),
                ),
                ("day", models.DateField()),
                ("asked", models.PositiveIntegerField(default=0)),
                ("passed", models.PositiveIntegerField(default=0)),
                ("refused", models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.AddField(
            model_name="project",
            name="max_begun_per_minute",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Conversations that begin in a minute before browsers do a proof of work; null for "
                "the limit of the installation.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("max_begun_per_minute__isnull", True), ("max_begun_per_minute__gte", 1), _connector="OR"
                ),
                name="project_lets_one_begin_in_a_minute",
            ),
        ),
        migrations.AddField(
            model_name="conversation",
            name="is_suspected",
            field=models.BooleanField(
                db_default=False, default=False, help_text="A program may have answered (rule 6.246)."
            ),
        ),
    ]
