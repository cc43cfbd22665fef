"""Celery tasks of webhooks: each calls one service and may run twice."""

from __future__ import annotations

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from webhooks.services import dispatch, housekeeping
from webhooks.services.outbox import DELIVER


@shared_task(name=DELIVER)
def deliver(*, webhook_id: int, partition: int, **_later: object) -> None:
    """Send the due deliveries of one partition."""
    dispatch.drain(webhook_id=webhook_id, partition=partition)


@worker_shutting_down.connect
def stop_delivering(**_later: object) -> None:
    """End running deliveries early, because the thread pool waits for its threads at shutdown."""
    dispatch.stop()


@shared_task(name="webhooks.sweep")
def sweep(**_later: object) -> None:
    """Every two seconds: wake a worker for each partition with something due, in case a wake was lost."""
    dispatch.wake_due(at=timezone.now())


@shared_task(name="webhooks.settle_anonymous_deliveries")
def settle_anonymous_deliveries(**_later: object) -> None:
    """Every ten minutes: rewrite rows about anonymous responses to hide their write order."""
    housekeeping.settle_anonymous_deliveries(at=timezone.now())


@shared_task(name="webhooks.forget_bodies")
def forget_bodies(**_later: object) -> None:
    """Every hour: delete bodies and responses 30 days after their event."""
    housekeeping.delete_bodies(at=timezone.now())
    housekeeping.remove_old(at=timezone.now())


@shared_task(name="webhooks.remove_deleted")
def remove_deleted(**_later: object) -> None:
    """Every hour: remove the rows of deleted webhooks."""
    housekeeping.remove_deleted(at=timezone.now())
