"""Deliveries about anonymous responses store no exact time, and are retried in time nevertheless (rule 9.23).

Rule 9.23.
"""

from __future__ import annotations

import random
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from communities.ground.rounding import Rounding
from tests.support.concurrency import held_elsewhere, wait_until
from tests.support.database import fetch_all
from tests.support.webhooks.delivery_runs import drain_all, emit_delivery, webhook_to
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from webhooks.models import Delivery
from webhooks.services import dispatch, locks, outcomes, precise_retries
from webhooks.services.precise_retries import PreciseRetry, schedule

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 1, 9, 34, 56, 789, tzinfo=UTC)
HOUR = (datetime(2026, 2, 1, 9, tzinfo=UTC), datetime(2026, 2, 1, 10, tzinfo=UTC))
DAY = (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC))


@pytest.fixture(autouse=True)
def without_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)


class Clock:
    """A clock for scheduled retries that tests can move forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def advance(self, seconds: float) -> None:
        self._ahead += seconds

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(precise_retries, "time", clock)
    return clock


@pytest.mark.parametrize(("rounding", "span"), [(Rounding.HOUR, HOUR), (Rounding.DAY, DAY)])
def test_a_failure_is_stored_to_the_hour_or_day_and_retried_after_seconds(
    receiver: Receiver, clock: Clock, rounding: Rounding, span: tuple[datetime, datetime]
) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500), ScriptedResponse()))
    delivery = emit_delivery(at=NOW, rounded_to=rounding)

    drain_all(webhook, at=NOW)
    delivery.refresh_from_db()
    webhook.refresh_from_db()

    assert (delivery.last_attempt_at, delivery.due_at) == span
    assert webhook.failing_since == span[0]
    assert not delivery.is_settled
    dispatch.drain(webhook_id=webhook.pk, partition=delivery.partition, now=lambda: NOW)
    assert len(receiver.requests()) == 1

    clock.advance(5.0)
    dispatch.drain(webhook_id=webhook.pk, partition=delivery.partition, now=lambda: NOW)
    delivery.refresh_from_db()

    assert (delivery.status, delivery.attempt_count, delivery.last_attempt_at) == ("delivered", 2, span[0])
    assert schedule.due_partitions() == []


def test_longer_waits_follow_the_row(receiver: Receiver, clock: Clock) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=503, headers={"Retry-After": "331"})))
    delivery = emit_delivery(at=NOW, rounded_to=Rounding.HOUR)

    drain_all(webhook, at=NOW)

    delivery.refresh_from_db()
    clock.advance(331)
    assert delivery.due_at == HOUR[1]
    assert schedule.next_due(webhook.pk, delivery.partition) is None


@pytest.mark.parametrize("status", [200, 410, 500])
def test_no_column_and_no_log_line_has_the_exact_time(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    webhook = webhook_to(
        receiver.script("/", ScriptedResponse(status=status)),
        failing_since=DAY[0] - timedelta(days=9),
        created_at=DAY[0] - timedelta(days=9),
        updated_at=DAY[0] - timedelta(days=9),
    )
    delivery = emit_delivery(at=NOW, rounded_to=Rounding.DAY)

    with caplog.at_level("INFO", logger="colloquy.webhooks"):
        drain_all(webhook, at=NOW)

    tables = ("webhook", "event", "delivery")
    stored = str([fetch_all(f"SELECT to_jsonb(t)::text FROM webhooks_{table} t") for table in tables])
    assert "2026-02-01" in stored
    assert not any(moment in stored for moment in ("09:34", "09:00", "10:00"))
    assert str(delivery.pk) not in caplog.text
    assert str(delivery.event_id) not in caplog.text
    assert "webhooks.attempt" in caplog.text


def test_the_response_to_an_anonymous_event_is_not_stored(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(body='{"id": 1052}')))
    delivery = emit_delivery(at=NOW, rounded_to=Rounding.HOUR)

    drain_all(webhook, at=NOW)

    delivery.refresh_from_db()
    assert (delivery.status, delivery.response_status, delivery.response_body) == ("delivered", 200, None)


def test_a_retry_is_dropped_if_the_delivery_was_attempted_in_between(
    receiver: Receiver, clock: Clock
) -> None:
    busy = ScriptedResponse(status=503, headers={"Retry-After": "7200"})
    webhook = webhook_to(
        receiver.script("/", ScriptedResponse(status=500), busy, ScriptedResponse(status=500))
    )
    before_ten, ten = HOUR[1] - timedelta(seconds=10), HOUR[1]
    delivery = emit_delivery(at=before_ten, rounded_to=Rounding.HOUR)
    drain_all(webhook, at=before_ten)
    clock.advance(-60)  # so that the time on the row comes first
    drain_all(webhook, at=ten)

    clock.advance(66)
    drain_all(webhook, at=ten)

    delivery.refresh_from_db()
    assert (delivery.attempt_count, delivery.due_at) == (2, ten + timedelta(hours=2))


def test_all_precise_retries_are_sent_once_the_endpoint_recovers(receiver: Receiver, clock: Clock) -> None:
    webhook = webhook_to(receiver.script("/", *[ScriptedResponse(status=500)] * 6, ScriptedResponse()))
    for _ in range(6):
        emit_delivery(at=NOW, rounded_to=Rounding.HOUR)
    Delivery.objects.update(partition=0)
    for _ in range(6):
        dispatch.drain(webhook_id=webhook.pk, partition=0, now=lambda: NOW)
    assert {each.status for each in Delivery.objects.all()} == {"failed"}
    clock.advance(5)

    dispatch.drain(webhook_id=webhook.pk, partition=0, now=lambda: NOW)

    assert {each.status for each in Delivery.objects.all()} == {"delivered"}


def test_a_retry_whose_outcome_could_not_be_written_stays_scheduled(
    receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500), ScriptedResponse()))
    delivery = emit_delivery(at=NOW, rounded_to=Rounding.HOUR)
    drain_all(webhook, at=NOW)
    clock.advance(5)

    def fail(*_: object) -> None:
        raise OperationalError

    with monkeypatch.context() as without_database:
        without_database.setattr(outcomes, "write", fail)
        with pytest.raises(OperationalError):
            drain_all(webhook, at=NOW)

    assert schedule.due_partitions() == [(webhook.pk, delivery.partition)]


def test_a_retry_whose_partition_is_locked_stays_scheduled(receiver: Receiver, clock: Clock) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500), ScriptedResponse()))
    delivery = emit_delivery(at=NOW, rounded_to=Rounding.HOUR)
    drain_all(webhook, at=NOW)
    clock.advance(5)

    with held_elsewhere(lambda: locks.partition_lock(webhook.pk, delivery.partition)):
        drain_all(webhook, at=NOW)
    assert schedule.due_partitions() == [(webhook.pk, delivery.partition)]
    drain_all(webhook, at=NOW)

    delivery.refresh_from_db()
    assert delivery.status == "delivered"


def test_a_worker_is_woken_when_a_retry_is_due(
    receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[dict[str, Any]] = []
    monkeypatch.setattr(precise_retries, "SECONDS_BETWEEN_CHECKS", 0.01)
    monkeypatch.setattr(precise_retries, "wake_at_once", lambda task, **kwargs: woken.append(kwargs))
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500)))
    delivery = emit_delivery(at=NOW, rounded_to=Rounding.DAY)

    drain_all(webhook, at=NOW)
    assert woken == []
    clock.advance(5)

    wait_until(lambda: woken)
    assert woken[0] == {"webhook_id": webhook.pk, "partition": delivery.partition}


def test_a_retry_that_is_overdue_for_too_long_is_dropped(receiver: Receiver, clock: Clock) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500)))
    emit_delivery(at=NOW, rounded_to=Rounding.HOUR)
    drain_all(webhook, at=NOW)

    clock.advance(5 + precise_retries.SECONDS_UNTIL_DROPPED)

    assert schedule.due_partitions() == []
    assert schedule._count == 0


def test_the_number_of_scheduled_retries_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precise_retries, "MAX_RETRIES", 2)

    for _ in range(3):
        schedule.add(1, 0, PreciseRetry(uuid.uuid4(), 1), wait=timedelta(hours=1))

    assert schedule._count == 2
