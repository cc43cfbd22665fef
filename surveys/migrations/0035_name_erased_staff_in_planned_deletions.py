from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0033_keep_refusals_of_counts"),
    ]

    operations = [
        migrations.AddField(
            model_name="responsedeletion",
            name="requested_under",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="The pseudonym of who requested it, once erased.",
                max_length=8,
            ),
        ),
    ]
