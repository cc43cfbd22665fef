from django.apps import AppConfig
from django.conf import settings


class Installation(AppConfig):
    name = "config"

    def ready(self) -> None:
        # The import is not at module level, because the module reads the settings. Celery's app must exist
        # before a task is woken.
        import config.celery  # noqa: PLC0415
        import config.checks  # noqa: F401, PLC0415
        from communities.ground import sealing  # noqa: PLC0415
        from config import cookies, secret_key  # noqa: PLC0415

        cookies.read_quickly()
        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            from config import telemetry  # noqa: PLC0415 - not imported without the setting

            telemetry.trace_tasks()
        sealing.load_hash_root_by(secret_key.hash_root)
