"""What tells of an anonymous response leaves no exact time behind, and is tried again in time even so."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.webhooks.receiving import Receiver, Scripted
from tests.webhooks.sending_to import sent, told, webhook
from tests.webhooks.telling import rows
from webhooks.rounding import Rounding
from webhooks.services import sending
from webhooks.services.due import Early
from webhooks.services.outbox import DELIVER

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 1, 9, 34, 56, 789, tzinfo=UTC)
HOUR = (datetime(2026, 2, 1, 9, tzinfo=UTC), datetime(2026, 2, 1, 10, tzinfo=UTC))
DAY = (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC))
Wakes = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def without_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> Wakes:
    wakes: Wakes = []
    monkeypatch.setattr(sending, "wake", lambda task, **kwargs: wakes.append({"task": task, **kwargs}))
    return wakes


@pytest.mark.parametrize(("rounding", "span"), [(Rounding.HOUR, HOUR), (Rounding.DAY, DAY)])
def test_a_failure_is_kept_to_the_hour_or_day_and_tried_again_after_seconds(
    receiver: Receiver, woken: Wakes, rounding: Rounding, span: tuple[datetime, datetime]
) -> None:
    to = webhook(receiver.script("/", Scripted(status=500), Scripted()))
    delivery = told(at=NOW, rounded_to=rounding)

    sent(to, at=NOW)
    delivery.refresh_from_db()
    to.refresh_from_db()
    again = woken.pop()

    assert (delivery.last_attempt_at, delivery.due_at) == span
    assert to.failing_since == span[1]
    assert not delivery.is_settled
    assert again == {
        "task": DELIVER,
        "countdown": 5.0,
        "webhook_id": to.pk,
        "lane": delivery.lane,
        "early": str(delivery.pk),
        "attempts": delivery.attempt_count,
    }

    sending.drain(
        webhook_id=to.pk,
        lane=delivery.lane,
        early=Early(delivery.pk, delivery.attempt_count),
        now=lambda: NOW,
    )
    delivery.refresh_from_db()

    assert (delivery.status, delivery.attempt_count, delivery.last_attempt_at) == ("delivered", 2, span[0])
    assert woken == []


def test_longer_waits_are_left_to_the_rows(receiver: Receiver, woken: Wakes) -> None:
    to = webhook(receiver.script("/", Scripted(status=503, headers={"Retry-After": "331"})))
    delivery = told(at=NOW, rounded_to=Rounding.HOUR)

    sent(to, at=NOW)

    delivery.refresh_from_db()
    assert delivery.due_at == HOUR[1]
    assert woken == []


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
