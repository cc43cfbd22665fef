from django.apps import AppConfig


class XpConfig(AppConfig):
    name = "xp"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "XP"
