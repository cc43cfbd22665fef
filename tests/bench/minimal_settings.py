"""The same database without anything of ours in front: no middleware, no gate, no rules."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as ALL_APPS

ROOT_URLCONF = "tests.bench.minimal"
MIDDLEWARE = []
INSTALLED_APPS = [app for app in ALL_APPS if not app.startswith("allauth")]  # they insist on their middleware
