"""What the worker does for webhooks: each task calls one service, and may run twice."""

from __future__ import annotations

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from webhooks.services import housekeeping, sending
from webhooks.services.outbox import DELIVER


@shared_task(name=DELIVER)
def deliver(*, webhook_id: int, lane: int, **_later: object) -> None:
    """Send what is due in one lane of a webhook."""
    sending.drain(webhook_id=webhook_id, lane=lane)


@worker_shutting_down.connect
def stop_delivering(**_later: object) -> None:
    """The pool of threads waits for them at the end, so they are told not to go on."""
    sending.stop()


@shared_task(name="webhooks.sweep")
def sweep(**_later: object) -> None:
    """Every two seconds: wake the lanes in which something is due, whether or not anybody was woken."""
    sending.wake_due(at=timezone.now())


@shared_task(name="webhooks.settle_anonymous_deliveries")
def settle_anonymous_deliveries(**_later: object) -> None:
    """Every ten minutes: what tells of anonymous responses loses the order in which it was written."""
    housekeeping.settle(at=timezone.now())


@shared_task(name="webhooks.forget_bodies")
def forget_bodies(**_later: object) -> None:
    """Every hour: forget what was sent and answered, 30 days after it happened."""
    housekeeping.forget_bodies(at=timezone.now())


@shared_task(name="webhooks.remove_deleted")
def remove_deleted(**_later: object) -> None:
    """Every hour: remove the rows of webhooks that were deleted."""
    housekeeping.remove_deleted(at=timezone.now())
