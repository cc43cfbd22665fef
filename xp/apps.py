from django.apps import AppConfig


class XpConfig(AppConfig):
    name = "xp"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "XP"

    def ready(self) -> None:
        from communities.services.pictures import places  # noqa: PLC0415 - once the models are loaded
        from xp.services import achievements  # noqa: PLC0415

        places.add(*achievements.PLACES)
