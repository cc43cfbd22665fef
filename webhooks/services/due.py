"""What is due: found by a partial index, and read in small batches with all that sending needs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.statements import prepared
from webhooks.models import Webhook
from webhooks.services.early import Early

MOST_AT_ONCE = 20  # deliveries of a batch
# A webhook that is off is sent only what somebody asked for by hand, and a deleted one nothing.
_WANTED = "w.deleted_at IS NULL AND (w.is_active OR d.even_if_off)"
_IN_LANE = f"""
    FROM webhooks_webhook w
    JOIN webhooks_delivery d ON d.webhook_id = w.id
    JOIN webhooks_event e ON e.id = d.event_id
    WHERE w.id = %s AND d.lane = %s AND {_WANTED} AND e.body IS NOT NULL
"""
_READ = f"""
    SELECT w.community_id, w.url, w.sealed_secret, w.sealed_previous_secret, w.previous_secret_expires_at,
        w.failing_since, d.id, d.attempt_count, e.id, e.body, e.person_id, e.rounding
    {_IN_LANE}
"""
_BATCH = f"{_READ} AND d.due_at <= %s ORDER BY d.due_at LIMIT {MOST_AT_ONCE}"
_EARLY = f"{_READ} AND d.due_at IS NOT NULL AND d.id = %s AND d.attempt_count = %s"
_IS_ANY = f"SELECT EXISTS (SELECT {_IN_LANE} AND d.due_at <= %s)"
_DUE = """
    FROM webhooks_delivery d
    WHERE d.webhook_id = lane.webhook_id AND d.lane = lane.lane AND d.due_at <= %(at)s
"""
# Jumps from one lane in which something waits to the next, so it costs by lanes and not by deliveries; what
# waits for a webhook that is off is not walked through, as those asked for by hand have an index.
_LANES = f"""
    WITH RECURSIVE lane AS (
        (SELECT webhook_id, lane FROM webhooks_delivery WHERE due_at IS NOT NULL
            ORDER BY webhook_id, lane LIMIT 1)
        UNION ALL
        SELECT next.webhook_id, next.lane FROM lane CROSS JOIN LATERAL (
            SELECT d.webhook_id, d.lane FROM webhooks_delivery d
            WHERE d.due_at IS NOT NULL AND (d.webhook_id, d.lane) > (lane.webhook_id, lane.lane)
            ORDER BY d.webhook_id, d.lane LIMIT 1
        ) next
    )
    SELECT lane.webhook_id, lane.lane FROM lane JOIN webhooks_webhook w ON w.id = lane.webhook_id
    WHERE w.deleted_at IS NULL
        AND (w.is_active AND EXISTS (SELECT {_DUE}) OR EXISTS (SELECT {_DUE} AND d.even_if_off))
    ORDER BY random()
"""


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery that is to be tried, with what is sent."""

    id: uuid.UUID
    webhook_id: int
    url: str
    attempt_count: int
    event_id: uuid.UUID
    body: str
    person_id: int | None
    rounding: str | None


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be tried one after the other, and the webhook as it was when they were read."""

    webhook: Webhook
    deliveries: list[Due]


def read(*, webhook_id: int, lane: int, at: datetime) -> Batch | None:
    """Those of a lane that have waited longest; None where nothing is due."""
    return _batch(webhook_id, _BATCH, [webhook_id, lane, at])


def read_early(*, webhook_id: int, lane: int, early: Early) -> Batch | None:
    """One delivery, whenever it is due; None where it is over, or was tried since."""
    return _batch(webhook_id, _EARLY, [webhook_id, lane, early.delivery_id, early.attempts])


def is_any(*, webhook_id: int, lane: int, at: datetime) -> bool:
    """Whether `read` would find something."""
    with prepared() as cursor:
        cursor.execute(_IS_ANY, [webhook_id, lane, at])
        [answer] = cursor.fetchone()
    return bool(answer)


def lanes(*, at: datetime) -> list[tuple[int, int]]:
    """Every webhook and lane in which something is due, in no order: none comes always first."""
    with prepared() as cursor:
        cursor.execute(_LANES, {"at": at})
        found: list[tuple[int, int]] = cursor.fetchall()
    return found


def _batch(webhook_id: int, sql: str, values: Sequence[Any]) -> Batch | None:
    with prepared() as cursor:
        cursor.execute(sql, values)
        rows = cursor.fetchall()
    if not rows:
        return None
    community_id, url, secret, previous, expires_at, failing_since, *_ = rows[0]
    webhook = Webhook(
        pk=webhook_id,
        community_id=community_id,
        url=url,
        sealed_secret=secret,
        sealed_previous_secret=previous,
        previous_secret_expires_at=expires_at,
        failing_since=failing_since,
    )
    return Batch(webhook, [Due(row[6], webhook_id, url, *row[7:]) for row in rows])
