"""The installation's settings, with two more addresses that measure the cost of the gate (urls.py here)."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.urls"
