"""Figures about the outbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from communities.ground.rounding import Rounding
from tests.support.webhooks.outbox import create_delivery, create_webhook, unsaved_event
from webhooks.models import Event
from webhooks.services import metrics

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def event(**fields: Any) -> Event:
    return unsaved_event(**{"created_at": NOW, **fields})


def test_deliveries_are_counted_by_status() -> None:
    webhook = create_webhook()
    create_delivery(webhook, event())
    create_delivery(webhook, event(), status="failed", attempt_count=1)
    create_delivery(webhook, event(), status="failed", attempt_count=2)
    create_delivery(webhook, event(), status="abandoned", attempt_count=10, due_at=None)
    create_delivery(webhook, event(), status="delivered", attempt_count=1, due_at=None)

    outbox = metrics.outbox(at=NOW)

    assert outbox.not_delivered == {"pending": 1, "failed": 2, "abandoned": 1}
    assert metrics.delivered_count() == 1


def test_due_counts_what_a_worker_would_send_now() -> None:
    off, on = create_webhook(is_active=False), create_webhook()
    deleted = create_webhook(is_active=False, deleted_at=NOW)
    create_delivery(on, event())
    create_delivery(on, event(), due_at=NOW + timedelta(seconds=1))
    create_delivery(off, event())
    create_delivery(off, event(), even_if_off=True)
    create_delivery(deleted, event(), even_if_off=True)

    outbox = metrics.outbox(at=NOW)

    assert outbox.due == 2


def test_the_oldest_event_is_one_of_a_webhook_that_is_on() -> None:
    off, on = create_webhook(is_active=False), create_webhook()
    create_delivery(off, event(created_at=NOW - timedelta(days=2)))
    create_delivery(on, event(created_at=NOW - timedelta(days=1)), status="delivered", due_at=None)
    retried = event(created_at=NOW - timedelta(minutes=5))
    create_delivery(on, retried, status="failed", attempt_count=1, due_at=NOW + timedelta(hours=1))
    create_delivery(on, event(created_at=NOW - timedelta(minutes=1)))

    outbox = metrics.outbox(at=NOW)

    assert outbox.oldest_age_seconds == 300


@pytest.mark.parametrize(
    ("rounding", "created_at", "seconds"),
    [
        (Rounding.HOUR, datetime(2026, 5, 4, 12, tzinfo=UTC), 0),
        (Rounding.HOUR, datetime(2026, 5, 4, 11, tzinfo=UTC), 1800),
        (Rounding.DAY, datetime(2026, 5, 4, tzinfo=UTC), 0),
        (Rounding.DAY, datetime(2026, 5, 3, tzinfo=UTC), 12.5 * 3600),
    ],
)
def test_the_age_of_an_anonymous_event_is_a_lower_bound(
    rounding: Rounding, created_at: datetime, seconds: float
) -> None:
    create_delivery(create_webhook(), event(rounding=rounding, created_at=created_at, is_settled=False))

    outbox = metrics.outbox(at=NOW)

    assert outbox.oldest_age_seconds == seconds


def test_webhooks_are_counted_by_state() -> None:
    create_webhook()
    create_webhook(failing_since=NOW)
    create_webhook(is_active=False, failing_since=NOW)
    create_webhook(is_active=False, disabled_reason="gone")
    create_webhook(is_active=False, disabled_reason="failing")
    create_webhook(is_active=False, deleted_at=NOW)

    outbox = metrics.outbox(at=NOW)

    assert outbox.webhooks == {"on": 2, "off": 1, "disabled": 2}
    assert outbox.failing == 1
