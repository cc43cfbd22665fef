"""The same database without anything of ours in front: no middleware, no gate, no rules."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.minimal"
MIDDLEWARE = []
# The models alone: what starts the account area and the admin insists on middleware.
INSTALLED_APPS = [
    "config",
    "tests.bench.minimal_apps.Communities",
    "webhooks",
    "xp",
    "surveys",
    "django.contrib.auth",
    "django.contrib.contenttypes",
]
