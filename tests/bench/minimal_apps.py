"""Our apps as the minimal views need them."""

from django.apps import AppConfig


class Communities(AppConfig):
    """Without what it does at the start."""

    name = "communities"
    default_auto_field = "django.db.models.BigAutoField"
