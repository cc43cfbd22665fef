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
    """Leaves registering the admin classes to `config.urls`, because workers and most commands need none."""

    default_site = "communities.staff.site.Site"

    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(_check_all_admins, checks.Tags.admin)


def _check_all_admins(
    app_configs: Sequence[AppConfig] | None, **options: Any
) -> Sequence[checks.CheckMessage]:
    autodiscover()  # in a command that has not loaded `config.urls`
    return check_admin_app(app_configs, **options)
