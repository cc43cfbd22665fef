"""Our apps as the minimal views need them."""

from django.apps import AppConfig


class Communities(AppConfig):
    """The app without its work at the start."""

    name = "communities"
    default_auto_field = "django.db.models.BigAutoField"
