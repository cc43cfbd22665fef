from django.apps import AppConfig


class CommunitiesConfig(AppConfig):
    name = "communities"
    default_auto_field = "django.db.models.BigAutoField"
