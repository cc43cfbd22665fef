from django.apps import AppConfig


class CommunitiesConfig(AppConfig):
    name = "communities"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Only here, for they read the models and the addresses, which are not there before.
        import communities.checks  # noqa: F401, PLC0415
