from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("surveys", "0011_fields_of_blocks"),
    ]

    operations = [
        migrations.AddField(
            model_name='option',
            name='image_alt',
            field=models.CharField(blank=True, max_length=500, null=True),
        ),
        migrations.AddField(
            model_name='option',
            name='image_url',
            field=models.URLField(blank=True, max_length=2048, null=True),
        ),
        migrations.AddField(
            model_name='option',
            name='is_exclusive',
            field=models.BooleanField(blank=True, help_text="Respondents cannot choose this option together with other options.", null=True),
        ),
        migrations.AddField(
            model_name='option',
            name='is_other',
            field=models.BooleanField(blank=True, help_text="Respondents who choose this option write a text of their own.", null=True),
        ),
    ]
