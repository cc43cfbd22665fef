"""Celery's app, and the timetable of what has to happen again and again."""

import os
import warnings
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Celery warns root of pickled tasks; ours are JSON.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("colloquy")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# Seconds between two runs. Each run catches up with whatever is due, so a missed one costs only time.
EVERY = {
    "surveys.open_and_close": 10,
    "surveys.forget_silent_conversations": 600,
    "surveys.settle_anonymous_answers": 600,
    "communities.forget_idempotent_requests": 3600,
}
TIMETABLE: dict[str, dict[str, Any]] = {
    # What was not fetched when the next is due need not be fetched any more.
    name: {"task": name, "schedule": seconds, "options": {"expires": seconds}}
    for name, seconds in EVERY.items()
}
app.conf.beat_schedule = TIMETABLE
