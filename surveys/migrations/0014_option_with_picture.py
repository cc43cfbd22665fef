from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0013_consent_places_and_ends"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="option",
            index=models.Index(
                condition=models.Q(("image_url__isnull", False)), fields=["block"], name="option_with_picture"
            ),
        ),
    ]
