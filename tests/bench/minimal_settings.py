"""The same database without anything of ours in front: no middleware, no gate, no rules."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.minimal"
MIDDLEWARE = []
