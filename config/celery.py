"""Celery's app, and the timetable of what has to happen again and again."""

import os
import warnings
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import before_task_publish, task_prerun
from django.db import connections

from config import queues

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

# Celery warns root of pickled tasks; ours are JSON.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("colloquy")
app.set_default()  # in every thread: without this, only the one that loaded it knows it
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
before_task_publish.connect(queues.say_when)

# Seconds between two runs. Each run catches up with whatever is due, so a missed one costs only time.
EVERY = {
    "surveys.open_and_close": 2,
    "webhooks.sweep": 2,
    "surveys.take_up_jobs": 5,
    "surveys.forget_silent_conversations": 600,
    "surveys.settle_anonymous_answers": 600,
    "webhooks.settle_anonymous_deliveries": 600,
    "communities.forget_idempotent_requests": 3600,
    "webhooks.forget_bodies": 3600,
    "webhooks.remove_deleted": 3600,
}
TIMETABLE: dict[str, dict[str, Any]] = {
    # What was not fetched when the next is due need not be fetched any more.
    name: {"task": name, "schedule": seconds, "options": {"expires": seconds}}
    for name, seconds in EVERY.items()
}
app.conf.beat_schedule = TIMETABLE


@task_prerun.connect
def begin_with_a_connection_that_works(**_: object) -> None:
    """A task begins as a request does: with its thread's kept connection, or a new one if that is broken."""
    for connection in connections.all(initialized_only=True):
        connection.close_if_unusable_or_obsolete()
        connection.close_if_health_check_failed()
