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

TIMETABLE: dict[str, dict[str, Any]] = {}
app.conf.beat_schedule = TIMETABLE
