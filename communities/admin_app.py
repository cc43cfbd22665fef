"""The admin site of this project, as Django's own app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.contrib.admin import autodiscover
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks


class AdminConfig(SimpleAdminConfig):
    """The configuration of the admin app. `config.urls` registers the admin classes, because workers and most
    commands need none.
    """

    default_site = "communities.staff.site.Site"

    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(_check_all_admins, checks.Tags.admin)


def _check_all_admins(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> Sequence[checks.CheckMessage]:
    autodiscover()  # A command may not have loaded `config.urls`.
    return check_admin_app(app_configs, **options)
