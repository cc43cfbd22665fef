"""Celery's app and the schedule of its periodic tasks."""

import os
import warnings
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import beat_init, before_task_publish, task_prerun
from django.db import connections

from config import queues

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Without this variable a worker would load every page and view for Django's checks, and then ignore their
# results.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

# Celery warns against unpickling tasks as root. Our tasks are JSON.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("colloquy")
app.set_default()  # The app is set in every thread, not only in the thread that imports this module.
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["surveys.chat"])
before_task_publish.connect(queues.add_publication_time)

# Seconds between two runs. A run does everything that is due, so a missed run only delays work.
INTERVALS = {
    "surveys.open_and_close": 2,
    "webhooks.sweep": 2,
    "communities.announce_members": 2,
    "surveys.take_up_jobs": 5,
    "surveys.delete_overdue_projects": 30,
    "surveys.delete_due_responses": 10,
    "surveys.delete_expired_responses": 60,
    "surveys.forget_silent_conversations": 600,
    "surveys.forget_unanswered_conversations": 3600,
    "surveys.skip_left_follow_ups": 60,
    "surveys.settle_anonymous_answers": 600,
    "surveys.settle_gifts": 60,
    "surveys.send_reminders": 60,
    "webhooks.settle_anonymous_deliveries": 600,
    "communities.forget_idempotent_requests": 3600,
    "communities.forget_sessions": 86400,
    "surveys.forget_old_drafts": 3600,
    "surveys.forget_deletions": 86400,
    "surveys.forget_tests": 300,
    "communities.forget_audit_entries": 86400,
    "webhooks.forget_bodies": 3600,
    "webhooks.remove_deleted": 3600,
    "communities.send_mails": 15,
    "communities.forget_mails": 86400,
    "communities.forget_invitations": 86400,
    "communities.refresh_members": 60,
    "communities.sweep_chat": 2,
    "communities.check_chat": 15,
    "communities.reconcile_chat": 86400,
    "communities.forget_chat_tasks": 86400,
    "communities.fetch_pictures": 15,
    "communities.tidy_pictures": 3600,
    "surveys.refresh_public_messages": 2,
    "surveys.refresh_summaries": 30,
    "xp.grant_waiting_roles": 60,
}
TIMETABLE: dict[str, dict[str, Any]] = {
    # A message that no worker has fetched before the next run is obsolete.
    name: {"task": name, "schedule": seconds, "options": {"expires": seconds}}
    for name, seconds in INTERVALS.items()
}
app.conf.beat_schedule = TIMETABLE


@beat_init.connect
def check_installation(**_: object) -> None:
    """Stop a scheduler that does not fit its database."""
    from config import startup  # noqa: PLC0415 - its models are not loaded before the apps are

    startup.check()


@task_prerun.connect
def drop_broken_connections(**_: object) -> None:
    """Close broken or outdated connections before a task, as Django does before a request."""
    for connection in connections.all(initialized_only=True):
        connection.close_if_unusable_or_obsolete()
        connection.close_if_health_check_failed()
