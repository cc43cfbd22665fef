from django.apps import AppConfig


class Installation(AppConfig):
    name = "config"

    def ready(self) -> None:
        # Only here, for Celery's app has to exist before anything wakes a task, and it reads the settings.
        import config.celery  # noqa: F401, PLC0415
