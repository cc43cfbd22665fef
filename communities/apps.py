from django.apps import AppConfig


class CommunitiesConfig(AppConfig):
    name = "communities"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # The import is here because the checks need models and URLs, which are loaded later than this module.
        from allauth.socialaccount.providers import registry  # noqa: PLC0415

        import communities.checks  # noqa: F401, PLC0415
        from communities.accounts import one_time_codes, recovery_codes, signals  # noqa: PLC0415
        from communities.accounts.providers.classes import PROVIDERS  # noqa: PLC0415
        from communities.ground import key_versions  # noqa: PLC0415
        from communities.models import ApiKey, Community, Member, User  # noqa: PLC0415

        # Keys and members are deleted with their community or user, so their deletions are announced, too.
        key_versions.connect(ApiKey, Community, Member, User, deleted=(ApiKey, Member))
        for provider in PROVIDERS:
            registry.register(provider)
        recovery_codes.install()
        one_time_codes.install()
        signals.connect()
