from django.db import migrations

_FIELDS = """'{"logo_url": null, "accent_color": null, "background_color": null, "background_url": null,
    "font": null, "corners": null}'::jsonb"""


class Migration(migrations.Migration):
    """Stored groups have every key."""

    dependencies = [("surveys", "0014_option_with_picture")]

    operations = [
        migrations.RunSQL(
            f"UPDATE surveys_project SET presentation = {_FIELDS} || presentation WHERE presentation IS NOT NULL",
            migrations.RunSQL.noop,
        ),
    ]
