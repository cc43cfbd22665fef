"""What happens to a delivery, its webhook or its worker while an attempt is under way."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from tests.webhooks.receiving import Receiver, Scripted
from tests.webhooks.sending_to import sent, told, webhook
from tests.webhooks.telling import NOON
from tests.webhooks.test_sending_turns import before_each_post
from webhooks.rounding import Rounding
from webhooks.services import lanes, sending, webhooks
from webhooks.services.due import Early

pytestmark = pytest.mark.django_db(transaction=True)

SHORTLY_BEFORE_TEN = datetime(2026, 2, 1, 9, 59, 50, tzinfo=UTC)
TEN = datetime(2026, 2, 1, 10, tzinfo=UTC)


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What workers are woken with, in place of waking them."""
    wakes: list[dict[str, Any]] = []
    monkeypatch.setattr(sending, "wake", lambda task, **kwargs: wakes.append(kwargs))
    return wakes


def test_what_the_address_before_answers_says_nothing_of_the_new_one(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = webhook(receiver.script("/old", Scripted(status=410)))
    delivery = told()
    of = {"community_id": to.community_id, "webhook_id": to.pk, "at": NOON}
    before_each_post(monkeypatch, lambda: webhooks.change(**of, fields={"url": receiver.url("/new")}))

    sent(to)

    to.refresh_from_db()
    delivery.refresh_from_db()
    assert (to.url, to.is_active, to.disabled_reason) == (receiver.url("/new"), True, None)
    assert delivery.status == "abandoned"


def test_a_worker_that_is_told_to_stop_puts_the_early_one_off(
    monkeypatch: pytest.MonkeyPatch, woken: list[dict[str, Any]]
) -> None:
    stop = threading.Event()
    stop.set()
    monkeypatch.setattr(sending, "_told_to_stop", stop)
    to = webhook("https://example.com/")
    delivery = told(rounded_to=Rounding.DAY)

    sending.drain(webhook_id=to.pk, lane=delivery.lane, early=Early(delivery.pk, 0), now=lambda: NOON)

    assert [(wake["early"], wake["attempts"]) for wake in woken] == [(str(delivery.pk), 0)]


def test_an_early_one_that_was_tried_since_waits_for_its_time(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, woken: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)
    asks_for_time = Scripted(status=503, headers={"Retry-After": "7200"})
    to = webhook(receiver.script("/", Scripted(status=500), asks_for_time, Scripted(status=500)))
    delivery = told(at=SHORTLY_BEFORE_TEN, rounded_to=Rounding.HOUR)
    sent(to, at=SHORTLY_BEFORE_TEN)
    [wake] = woken
    sent(to, at=TEN)

    early = Early(delivery.pk, wake["attempts"])
    late = TEN + timedelta(seconds=5)
    sending.drain(webhook_id=to.pk, lane=delivery.lane, early=early, now=lambda: late)

    delivery.refresh_from_db()
    assert (delivery.attempt_count, delivery.due_at) == (2, TEN + timedelta(hours=2))


def test_a_lock_that_another_session_took_is_given_up_with_the_connection() -> None:
    with lanes.hold(1, 0):
        taken_by = connection.connection  # as where a pooler gives each statement another session
        connection.connection = None
    try:
        assert connection.connection is None
    finally:
        taken_by.close()

    with lanes.hold(1, 0):
        pass
