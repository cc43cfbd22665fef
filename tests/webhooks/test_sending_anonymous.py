"""What tells of an anonymous response leaves no exact time behind, and is tried again in time even so."""

from __future__ import annotations

import random
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from tests.webhooks.receiving import Receiver, Scripted
from tests.webhooks.sending_to import sent, told, wait_until, webhook
from tests.webhooks.telling import rows
from tests.webhooks.test_sending_turns import held_elsewhere
from webhooks.models import Delivery
from webhooks.rounding import Rounding
from webhooks.services import early, lanes, outcomes, sending
from webhooks.services.early import reminders

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 1, 9, 34, 56, 789, tzinfo=UTC)
HOUR = (datetime(2026, 2, 1, 9, tzinfo=UTC), datetime(2026, 2, 1, 10, tzinfo=UTC))
DAY = (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC))


@pytest.fixture(autouse=True)
def without_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)


class Clock:
    """The clock of what is kept in mind."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def passes(self, seconds: float) -> None:
        self._ahead += seconds

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(early, "time", clock)
    return clock


@pytest.mark.parametrize(("rounding", "span"), [(Rounding.HOUR, HOUR), (Rounding.DAY, DAY)])
def test_a_failure_is_kept_to_the_hour_or_day_and_tried_again_after_seconds(
    receiver: Receiver, clock: Clock, rounding: Rounding, span: tuple[datetime, datetime]
) -> None:
    to = webhook(receiver.script("/", Scripted(status=500), Scripted()))
    delivery = told(at=NOW, rounded_to=rounding)

    sent(to, at=NOW)
    delivery.refresh_from_db()
    to.refresh_from_db()

    assert (delivery.last_attempt_at, delivery.due_at) == span
    assert to.failing_since == span[1]
    assert not delivery.is_settled
    sending.drain(webhook_id=to.pk, lane=delivery.lane, now=lambda: NOW)
    assert len(receiver.heard()) == 1

    clock.passes(5.0)
    sending.drain(webhook_id=to.pk, lane=delivery.lane, now=lambda: NOW)
    delivery.refresh_from_db()

    assert (delivery.status, delivery.attempt_count, delivery.last_attempt_at) == ("delivered", 2, span[0])
    assert reminders.lanes_due() == []


def test_longer_waits_are_left_to_the_rows(receiver: Receiver, clock: Clock) -> None:
    to = webhook(receiver.script("/", Scripted(status=503, headers={"Retry-After": "331"})))
    delivery = told(at=NOW, rounded_to=Rounding.HOUR)

    sent(to, at=NOW)

    delivery.refresh_from_db()
    clock.passes(331)
    assert delivery.due_at == HOUR[1]
    assert reminders.due(to.pk, delivery.lane) is None


@pytest.mark.parametrize("status", [200, 410, 500])
def test_no_column_and_no_line_of_the_log_has_the_moment(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    to = webhook(
        receiver.script("/", Scripted(status=status)),
        failing_since=DAY[0] - timedelta(days=9),
        created_at=DAY[0] - timedelta(days=9),
        updated_at=DAY[0] - timedelta(days=9),
    )
    delivery = told(at=NOW, rounded_to=Rounding.DAY)

    with caplog.at_level("INFO", logger="colloquy.webhooks"):
        sent(to, at=NOW)

    tables = ("webhook", "event", "delivery")
    kept = str([rows(f"SELECT to_jsonb(t)::text FROM webhooks_{table} t") for table in tables])
    assert "2026-02-01" in kept
    assert not any(moment in kept for moment in ("09:34", "09:00", "10:00"))
    assert str(delivery.pk) not in caplog.text
    assert str(delivery.event_id) not in caplog.text
    assert "webhooks.attempt" in caplog.text


def test_what_an_endpoint_answers_is_not_kept_as_it_may_count_or_time_it(receiver: Receiver) -> None:
    to = webhook(receiver.script("/", Scripted(body='{"id": 1052}')))
    delivery = told(at=NOW, rounded_to=Rounding.HOUR)

    sent(to, at=NOW)

    delivery.refresh_from_db()
    assert (delivery.status, delivery.response_status, delivery.response_body) == ("delivered", 200, None)


def test_an_early_one_that_was_tried_since_waits_for_its_time(receiver: Receiver, clock: Clock) -> None:
    asks_for_time = Scripted(status=503, headers={"Retry-After": "7200"})
    to = webhook(receiver.script("/", Scripted(status=500), asks_for_time, Scripted(status=500)))
    before_ten, ten = HOUR[1] - timedelta(seconds=10), HOUR[1]
    delivery = told(at=before_ten, rounded_to=Rounding.HOUR)
    sent(to, at=before_ten)
    clock.passes(-60)  # so that the row's time comes first
    sent(to, at=ten)

    clock.passes(66)
    sent(to, at=ten)

    delivery.refresh_from_db()
    assert (delivery.attempt_count, delivery.due_at) == (2, ten + timedelta(hours=2))


def test_once_an_endpoint_is_well_again_all_that_is_early_is_sent_at_once(
    receiver: Receiver, clock: Clock
) -> None:
    to = webhook(receiver.script("/", *[Scripted(status=500)] * 6, Scripted()))
    for _ in range(6):
        told(at=NOW, rounded_to=Rounding.HOUR)
    Delivery.objects.update(lane=0)
    for _ in range(6):
        sending.drain(webhook_id=to.pk, lane=0, now=lambda: NOW)
    assert {each.status for each in Delivery.objects.all()} == {"failed"}
    clock.passes(5)

    sending.drain(webhook_id=to.pk, lane=0, now=lambda: NOW)

    assert {each.status for each in Delivery.objects.all()} == {"delivered"}


def test_an_early_one_whose_outcome_could_not_be_written_stays_in_mind(
    receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = webhook(receiver.script("/", Scripted(status=500), Scripted()))
    delivery = told(at=NOW, rounded_to=Rounding.HOUR)
    sent(to, at=NOW)
    clock.passes(5)

    def fail(*_: object) -> None:
        raise OperationalError

    with monkeypatch.context() as without_database:
        without_database.setattr(outcomes, "write", fail)
        with pytest.raises(OperationalError):
            sent(to, at=NOW)

    assert reminders.lanes_due() == [(to.pk, delivery.lane)]


def test_an_early_one_whose_lane_is_taken_stays_in_mind(receiver: Receiver, clock: Clock) -> None:
    to = webhook(receiver.script("/", Scripted(status=500), Scripted()))
    delivery = told(at=NOW, rounded_to=Rounding.HOUR)
    sent(to, at=NOW)
    clock.passes(5)

    with held_elsewhere(lambda: lanes.hold(to.pk, delivery.lane)):
        sent(to, at=NOW)
    assert reminders.lanes_due() == [(to.pk, delivery.lane)]
    sent(to, at=NOW)

    delivery.refresh_from_db()
    assert delivery.status == "delivered"


def test_a_worker_is_woken_when_the_time_of_an_early_one_has_come(
    receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[dict[str, Any]] = []
    monkeypatch.setattr(early, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(early, "wake_at_once", lambda task, **lane: woken.append(lane))
    to = webhook(receiver.script("/", Scripted(status=500)))
    delivery = told(at=NOW, rounded_to=Rounding.DAY)

    sent(to, at=NOW)
    assert woken == []
    clock.passes(5)

    wait_until(lambda: woken)
    assert woken[0] == {"webhook_id": to.pk, "lane": delivery.lane}


def test_what_is_never_free_is_left_to_its_row(receiver: Receiver, clock: Clock) -> None:
    to = webhook(receiver.script("/", Scripted(status=500)))
    told(at=NOW, rounded_to=Rounding.HOUR)
    sent(to, at=NOW)

    clock.passes(5 + early.SECONDS_UNTIL_GIVEN_UP)

    assert reminders.lanes_due() == []
    assert reminders._count == 0


def test_no_more_is_kept_in_mind_than_memory_bears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "MOST", 2)

    for _ in range(3):
        reminders.add(1, 0, early.Early(uuid.uuid4(), 1), wait=timedelta(hours=1))

    assert reminders._count == 2
