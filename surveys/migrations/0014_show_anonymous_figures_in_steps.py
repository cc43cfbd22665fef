import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0013_pack_earlier_answers"),
    ]

    operations = [
        migrations.CreateModel(
            name="ShownFigures",
            fields=[
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="surveys.project",
                    ),
                ),
                ("sealed", models.BinaryField()),
            ],
            options={"verbose_name_plural": "shown figures"},
        ),
    ]
