"""Gives each option the code with which exports number it (decisions 17.5).

Options of before get the numbers that exports gave them last: in their order, removed ones after the others.
"""

from django.db import migrations, models

FILL = """
WITH numbered AS (
    SELECT id, row_number() OVER (PARTITION BY block_id ORDER BY is_archived, display_order, id) AS code
    FROM surveys_option
)
UPDATE surveys_option own SET code = numbered.code FROM numbered WHERE numbered.id = own.id;
UPDATE surveys_block own SET last_code = counted.most
FROM (SELECT block_id, count(*) AS most FROM surveys_option GROUP BY block_id) counted
WHERE counted.block_id = own.id;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("surveys", "0038_separate_people_of_unproven_accounts"),
    ]

    operations = [
        migrations.AddField(
            model_name="block",
            name="last_code",
            field=models.PositiveIntegerField(
                default=0, help_text="The highest code that an option of the block has had."
            ),
        ),
        migrations.AddField(
            model_name="option",
            name="code",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="option",
            constraint=models.UniqueConstraint(
                fields=("block", "code"), name="option_has_its_own_code_in_a_block"
            ),
        ),
    ]
