"""Waiting until nothing is left to do, and letting the hours pass that would have to."""

from __future__ import annotations

import time
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from surveys.models import Project
from tests.torture.programs import Keeper
from tests.torture.receiver import Endpoint
from webhooks.models import Delivery

SECONDS_BETWEEN_LOOKS = 0.5
AFTER_THE_SECOND_ATTEMPT = timedelta(seconds=10)


def settle(keeper: Keeper, answering: list[Endpoint], dead: Endpoint, *, seconds: float) -> int:
    """Wait for the end, at most so long; the checks tell what is not over then.

    What tells of an anonymous response and failed is due at a full hour, and that it is to be tried sooner is
    forgotten with the worker that knew. The hour is let pass; returns for how many.
    """
    until = time.monotonic() + seconds
    hastened = 0
    while time.monotonic() < until and _is_something_left(answering, dead):
        keeper.keep(SECONDS_BETWEEN_LOOKS)
        hastened += _let_hours_pass(answering)
    return hastened


def _is_something_left(answering: list[Endpoint], dead: Endpoint) -> bool:
    now = timezone.now()
    of_answering = Q(webhook_id__in=[endpoint.webhook_id for endpoint in answering])
    of_dead = Q(webhook_id=dead.webhook_id, due_at__lte=now) | Q(webhook_id=dead.webhook_id, attempt_count=0)
    return (
        Project.objects.filter(Q(opens_at__isnull=False) | Q(closes_at__isnull=False)).exists()
        or Delivery.objects.filter(of_answering, due_at__isnull=False).exists()
        or Delivery.objects.filter(of_dead).exists()
    )


def _let_hours_pass(answering: list[Endpoint]) -> int:
    """Once the time of an early wake is over."""
    now = timezone.now()
    waiting = Delivery.objects.filter(
        webhook_id__in=[endpoint.webhook_id for endpoint in answering],
        event__rounding__isnull=False,
        due_at__gt=now + AFTER_THE_SECOND_ATTEMPT,
    )
    # Looked up first: what comes out meanwhile is seen by its own columns alone.
    failed = Delivery.objects.filter(pk__in=list(waiting.values_list("pk", flat=True)))
    return failed.filter(status=Delivery.Status.FAILED).update(due_at=now)
