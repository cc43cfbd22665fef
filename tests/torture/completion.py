"""Waiting until everything is delivered, without waiting for full hours."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from surveys.models import Project
from tests.torture.receiver import Endpoint
from tests.torture.supervisor import Supervisor
from webhooks.models import Delivery

SECONDS_BETWEEN_CHECKS = 0.5
AFTER_THE_SECOND_ATTEMPT = timedelta(seconds=10)


def wait_until_delivered(
    supervisor: Supervisor, answering: list[Endpoint], dead: Endpoint, *, seconds: float
) -> tuple[int, datetime]:
    """Wait until nothing is left to do, at most `seconds`; the checks report what is unfinished then.

    Returns how many waits were shortened, and the moment at which nothing was due. The checks judge by that
    moment: a retry to the dead endpoint may fall due while they run.

    A failed delivery about an anonymous response is due at a full hour, because its precise retry is lost
    with the worker that was killed. Such deliveries are made due at once.
    """
    until = time.monotonic() + seconds
    shortened_waits = 0
    now = timezone.now()
    while time.monotonic() < until and _is_unfinished(answering, dead, now):
        supervisor.watch(SECONDS_BETWEEN_CHECKS)
        shortened_waits += _skip_waiting_for_full_hours(answering)
        now = timezone.now()
    return shortened_waits, now


def _is_unfinished(answering: list[Endpoint], dead: Endpoint, now: datetime) -> bool:
    of_answering = Q(webhook_id__in=[endpoint.webhook_id for endpoint in answering])
    of_dead = Q(webhook_id=dead.webhook_id, due_at__lte=now) | Q(webhook_id=dead.webhook_id, attempt_count=0)
    return (
        Project.objects.filter(Q(opens_at__isnull=False) | Q(closes_at__isnull=False)).exists()
        or Delivery.objects.filter(of_answering, due_at__isnull=False).exists()
        or Delivery.objects.filter(of_dead).exists()
    )


def _skip_waiting_for_full_hours(answering: list[Endpoint]) -> int:
    """Make deliveries due whose precise retry is overdue."""
    now = timezone.now()
    waiting = Delivery.objects.filter(
        webhook_id__in=[endpoint.webhook_id for endpoint in answering],
        event__rounding__isnull=False,
        due_at__gt=now + AFTER_THE_SECOND_ATTEMPT,
    )
    # Two statements, so that the update checks the current status of each row.
    failed = Delivery.objects.filter(pk__in=list(waiting.values_list("pk", flat=True)))
    return failed.filter(status=Delivery.Status.FAILED).update(due_at=now)
