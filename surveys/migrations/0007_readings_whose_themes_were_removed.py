from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("surveys", "0006_index_foreign_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="reading",
            name="is_emptied",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
