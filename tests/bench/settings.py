"""The installation as it is, with two addresses more, that measure what the gate costs (urls.py here)."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.urls"
