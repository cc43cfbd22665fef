from django.apps import AppConfig


class CommunitiesConfig(AppConfig):
    name = "communities"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Imported here because the checks need models and URLs, which are not loaded before.
        import communities.checks  # noqa: F401, PLC0415
