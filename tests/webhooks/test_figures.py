"""The outbox in numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.webhooks.telling import webhook
from webhooks.models import Delivery, Event, Webhook
from webhooks.rounding import Rounding
from webhooks.services import figures

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def event(**fields: Any) -> Event:
    made = {"community_id": 1, "type": "webhook.ping", "body": "{}", "created_at": NOW}
    return Event(**{**made, **fields})


def deliver_to(listener: Webhook, told: Event, **fields: Any) -> Delivery:
    """A delivery as old as its event, due since then."""
    told.community_id = listener.community_id
    told.save()
    made = {"lane": 0, "due_at": told.created_at, "created_at": told.created_at}
    return Delivery.objects.create(webhook=listener, event=told, **{**made, **fields})


def test_an_empty_outbox_is_told_as_zeros() -> None:
    outbox = figures.outbox(at=NOW)

    assert outbox == figures.Outbox(
        not_delivered={"pending": 0, "failed": 0, "abandoned": 0},
        due=0,
        seconds_of_oldest=0.0,
        webhooks={"on": 0, "off": 0, "disabled": 0},
    )
    assert figures.delivered() == 0


def test_deliveries_are_counted_by_status() -> None:
    listener = webhook()
    deliver_to(listener, event())
    deliver_to(listener, event(), status="failed", attempt_count=1)
    deliver_to(listener, event(), status="failed", attempt_count=2)
    deliver_to(listener, event(), status="abandoned", attempt_count=10, due_at=None)
    deliver_to(listener, event(), status="delivered", attempt_count=1, due_at=None)

    outbox = figures.outbox(at=NOW)

    assert outbox.not_delivered == {"pending": 1, "failed": 2, "abandoned": 1}
    assert figures.delivered() == 1


def test_due_is_what_a_worker_would_send_now() -> None:
    off, on = webhook(is_active=False), webhook()
    deleted = webhook(is_active=False, deleted_at=NOW)
    deliver_to(on, event())
    deliver_to(on, event(), due_at=NOW + timedelta(seconds=1))
    deliver_to(off, event())
    deliver_to(off, event(), even_if_off=True)
    deliver_to(deleted, event(), even_if_off=True)

    outbox = figures.outbox(at=NOW)

    assert outbox.due == 2


def test_the_oldest_is_of_a_webhook_that_is_on() -> None:
    off, on = webhook(is_active=False), webhook()
    deliver_to(off, event(created_at=NOW - timedelta(days=2)))
    deliver_to(on, event(created_at=NOW - timedelta(days=1)), status="delivered", due_at=None)
    retried = event(created_at=NOW - timedelta(minutes=5))
    deliver_to(on, retried, status="failed", attempt_count=1, due_at=NOW + timedelta(hours=1))
    deliver_to(on, event(created_at=NOW - timedelta(minutes=1)))

    outbox = figures.outbox(at=NOW)

    assert outbox.seconds_of_oldest == 300


@pytest.mark.parametrize(
    ("rounding", "created_at", "seconds"),
    [
        (Rounding.HOUR, datetime(2026, 5, 4, 12, tzinfo=UTC), 0),
        (Rounding.HOUR, datetime(2026, 5, 4, 11, tzinfo=UTC), 1800),
        (Rounding.DAY, datetime(2026, 5, 4, tzinfo=UTC), 0),
        (Rounding.DAY, datetime(2026, 5, 3, tzinfo=UTC), 12.5 * 3600),
    ],
)
def test_of_anonymous_responses_the_age_is_what_it_is_at_least(
    rounding: Rounding, created_at: datetime, seconds: float
) -> None:
    deliver_to(webhook(), event(rounding=rounding, created_at=created_at, is_settled=False))

    outbox = figures.outbox(at=NOW)

    assert outbox.seconds_of_oldest == seconds


def test_webhooks_are_on_or_off_or_switched_off() -> None:
    webhook()
    webhook()
    webhook(is_active=False)
    webhook(is_active=False, disabled_reason="gone")
    webhook(is_active=False, disabled_reason="failing")
    webhook(is_active=False, deleted_at=NOW)

    outbox = figures.outbox(at=NOW)

    assert outbox.webhooks == {"on": 2, "off": 1, "disabled": 2}
