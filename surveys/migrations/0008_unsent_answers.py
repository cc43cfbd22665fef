from django.db import migrations


class Migration(migrations.Migration):
    """Rename a model and keep its table, so no statement runs."""

    dependencies = [
        ("surveys", "0007_readings_whose_themes_were_removed"),
    ]

    operations = [
        migrations.AlterModelTable(name="answerdraft", table="surveys_answerdraft"),
        migrations.RenameModel(old_name="AnswerDraft", new_name="UnsentAnswer"),
    ]
