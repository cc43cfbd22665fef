from django.apps import AppConfig


class SurveysConfig(AppConfig):
    name = "surveys"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from communities.services import identities  # noqa: PLC0415 - once the models are loaded
        from surveys.services import lookup, merging  # noqa: PLC0415
        from webhooks import projects  # noqa: PLC0415

        identities.merge_by(merging.merge_users)
        projects.register(lookup.project_names, lookup.newest_project_names)
