from django.apps import AppConfig, apps


class SurveysConfig(AppConfig):
    name = "surveys"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from communities.services.pictures import places  # noqa: PLC0415 - once the models are loaded
        from surveys.services.ground import lookup  # noqa: PLC0415
        from surveys.services.projects import pictures as of_projects  # noqa: PLC0415
        from surveys.services.scripts import pictures as of_scripts  # noqa: PLC0415
        from webhooks import projects  # noqa: PLC0415

        projects.register(lookup.project_names, lookup.newest_project_names)
        places.add(*of_scripts.PLACES, *of_projects.PLACES)
        if apps.is_installed("allauth.account"):  # the views that measurements compare with have no accounts
            from communities.services.people import identities, member_changes  # noqa: PLC0415
            from communities.services.tenants import settings  # noqa: PLC0415
            from surveys.services import events  # noqa: PLC0415
            from surveys.services.people import merging  # noqa: PLC0415
            from surveys.services.projects import script_writes  # noqa: PLC0415

            settings.follow_by(script_writes.follow_thanks)
            member_changes.announce_by(events.members_updated)
            identities.merge_by(merging.merge_users)
