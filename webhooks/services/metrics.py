"""Figures about the outbox, for the metrics of the installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from communities.ground.statements import fetch_rows

# The partial index of undelivered rows serves this statement.
_NOT_DELIVERED = """
    SELECT status, count(*)
    FROM webhooks_delivery JOIN webhooks_webhook webhook ON webhook.id = webhook_id
    WHERE status <> 'delivered' AND deleted_at IS NULL
    GROUP BY status
"""
_DELIVERED = "SELECT count(*) FROM webhooks_delivery WHERE status = 'delivered'"
_DUE = """
    SELECT count(*) FROM webhooks_delivery delivery JOIN webhooks_webhook webhook ON webhook.id = webhook_id
    WHERE due_at <= %s AND deleted_at IS NULL AND (is_active OR even_if_off)
"""
# An event about an anonymous response stores only the start of its hour or day; it counts from the end, so
# its age is a lower bound. The first row is therefore not always the oldest. The first hundred are compared:
# comparing all would take 3 ms for each thousand.
_OLDEST = """
    SELECT min(first.created_at + CASE first.rounding
        WHEN 'hour' THEN interval '1 hour' WHEN 'day' THEN interval '1 day' ELSE interval '0' END)
    FROM webhooks_webhook webhook
    CROSS JOIN (VALUES ('pending'), ('failed')) AS waiting (status)
    CROSS JOIN LATERAL (
        SELECT delivery.created_at, event.rounding
        FROM webhooks_delivery delivery JOIN webhooks_event event ON event.id = event_id
        WHERE webhook_id = webhook.id AND status = waiting.status AND status <> 'delivered'
        ORDER BY delivery.created_at LIMIT 100
    ) first
    WHERE is_active AND deleted_at IS NULL
"""
_WEBHOOKS = """
    SELECT CASE WHEN is_active THEN 'on' WHEN disabled_reason IS NULL THEN 'off' ELSE 'disabled' END,
        count(*), count(failing_since) FILTER (WHERE is_active)
    FROM webhooks_webhook WHERE deleted_at IS NULL GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class OutboxMetrics:
    """The state of the outbox.

    `not_delivered` counts deliveries by status, and `due` counts deliveries to send now. `oldest_age_seconds`
    is the age of the oldest undelivered event of a webhook that is on. `webhooks` counts webhooks that are
    on, off, and disabled by the service. `failing` counts webhooks that are on and whose last message did not
    arrive.
    """

    not_delivered: Mapping[str, int]
    due: int
    oldest_age_seconds: float
    webhooks: Mapping[str, int]
    failing: int


def outbox(*, at: datetime) -> OutboxMetrics:
    """Return the cheap figures, whose statements read only undelivered rows and webhooks."""
    [(due,)] = fetch_rows(_DUE, [at])
    [(oldest,)] = fetch_rows(_OLDEST, [])
    by_state = fetch_rows(_WEBHOOKS, [])
    return OutboxMetrics(
        not_delivered={"pending": 0, "failed": 0, "abandoned": 0, **dict(fetch_rows(_NOT_DELIVERED, []))},
        due=due,
        oldest_age_seconds=max(0.0, (at - oldest).total_seconds()) if oldest else 0.0,
        webhooks={"on": 0, "off": 0, "disabled": 0, **{state: count for state, count, _ in by_state}},
        failing=sum(failing for *_, failing in by_state),
    )


def delivered_count() -> int:
    """How many deliveries reached their endpoint. Scans the whole table: 0.1 s for each million rows."""
    [(count,)] = fetch_rows(_DELIVERED, [])
    return int(count)
