from django.apps import AppConfig


class SurveysConfig(AppConfig):
    name = "surveys"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from surveys.services import lookup  # noqa: PLC0415 - once the models are loaded
        from webhooks import projects  # noqa: PLC0415

        projects.register(lookup.project_names, lookup.newest_project_names)
