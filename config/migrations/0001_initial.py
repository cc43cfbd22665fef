from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = []

    operations = [
        migrations.CreateModel(
            name="KeyFingerprint",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                (
                    "fingerprint",
                    models.CharField(help_text="A keyed hash: it does not reveal the key.", max_length=64),
                ),
                ("recorded_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="key_fingerprint_has_one_row")
                ],
            },
        ),
        # What /readyz writes: a sequence changes in place, so it never grows and leaves no dead rows.
        migrations.RunSQL("CREATE SEQUENCE config_readiness CYCLE", "DROP SEQUENCE config_readiness"),
    ]
