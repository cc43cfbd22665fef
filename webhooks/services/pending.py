"""Reads due deliveries in small batches, through a partial index, with everything that sending needs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.ground.statements import prepared
from webhooks.models import Webhook
from webhooks.services.precise_retries import PreciseRetry

BATCH_SIZE = 20  # A batch has at most this many deliveries.
# A webhook that is off receives only deliveries that somebody requested; a deleted webhook receives nothing.
_IS_WANTED = "w.deleted_at IS NULL AND (w.is_active OR d.even_if_off)"
_FROM_PARTITION = f"""
    FROM webhooks_webhook w
    JOIN webhooks_delivery d ON d.webhook_id = w.id
    JOIN webhooks_event e ON e.id = d.event_id
    WHERE w.id = %s AND d.partition = %s AND {_IS_WANTED} AND e.body IS NOT NULL
"""
_SELECT = f"""
    SELECT w.community_id, w.url, w.sealed_secret, w.sealed_previous_secret, w.previous_secret_expires_at,
        w.failing_since, d.id, d.attempt_count, e.id, e.body, e.person_id, e.rounding
    {_FROM_PARTITION}
"""
_BATCH = f"{_SELECT} AND d.due_at <= %s ORDER BY d.due_at LIMIT {BATCH_SIZE}"
_RETRY = f"{_SELECT} AND d.due_at IS NOT NULL AND d.id = %s AND d.attempt_count = %s"
_IS_ANY_DUE = f"SELECT EXISTS (SELECT {_FROM_PARTITION} AND d.due_at <= %s)"
_DUE_IN_PARTITION = """
    FROM webhooks_delivery d
    WHERE d.webhook_id = used.webhook_id AND d.partition = used.partition AND d.due_at <= %(at)s
"""
# Jumps from one partition with undelivered rows to the next (a loose index scan), so the cost grows with
# partitions and not with deliveries. The backlog of a webhook that is off is not scanned either: deliveries
# requested by hand have an index of their own.
_DUE_PARTITIONS = f"""
    WITH RECURSIVE used AS (
        (SELECT webhook_id, partition FROM webhooks_delivery WHERE due_at IS NOT NULL
            ORDER BY webhook_id, partition LIMIT 1)
        UNION ALL
        SELECT next.webhook_id, next.partition FROM used CROSS JOIN LATERAL (
            SELECT d.webhook_id, d.partition FROM webhooks_delivery d
            WHERE d.due_at IS NOT NULL AND (d.webhook_id, d.partition) > (used.webhook_id, used.partition)
            ORDER BY d.webhook_id, d.partition LIMIT 1
        ) next
    )
    SELECT used.webhook_id, used.partition FROM used JOIN webhooks_webhook w ON w.id = used.webhook_id
    WHERE w.deleted_at IS NULL
        AND (w.is_active AND EXISTS (SELECT {_DUE_IN_PARTITION})
            OR EXISTS (SELECT {_DUE_IN_PARTITION} AND d.even_if_off))
    ORDER BY row_number() OVER (PARTITION BY w.community_id ORDER BY random()), random()
"""


@dataclass(frozen=True, slots=True)
class PendingDelivery:
    """A delivery to attempt, with the body to send."""

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
    """Deliveries to attempt in this order, and their webhook at the time when they were read."""

    webhook: Webhook
    deliveries: list[PendingDelivery]


def read_batch(*, webhook_id: int, partition: int, at: datetime) -> Batch | None:
    """The deliveries of a partition that have been due longest; None if nothing is due."""
    return _read(webhook_id, _BATCH, [webhook_id, partition, at])


def read_retry(*, webhook_id: int, partition: int, retry: PreciseRetry) -> Batch | None:
    """One delivery, before the due time on its row; None if it has ended or was attempted in between."""
    return _read(webhook_id, _RETRY, [webhook_id, partition, retry.delivery_id, retry.attempts])


def is_any_due(*, webhook_id: int, partition: int, at: datetime) -> bool:
    """Whether `read_batch` would find a delivery."""
    with prepared() as cursor:
        cursor.execute(_IS_ANY_DUE, [webhook_id, partition, at])
        [is_due] = cursor.fetchone()
    return bool(is_due)


def due_partitions(*, at: datetime) -> list[tuple[int, int]]:
    """Webhook and partition of all due deliveries.

    Communities take turns, so that a community with many does not delay the others. Within a community the
    order is random, so that no partition is always first.
    """
    with prepared() as cursor:
        cursor.execute(_DUE_PARTITIONS, {"at": at})
        partitions: list[tuple[int, int]] = cursor.fetchall()
    return partitions


def _read(webhook_id: int, sql: str, values: Sequence[Any]) -> Batch | None:
    with prepared() as cursor:
        cursor.execute(sql, values)
        rows = cursor.fetchall()
    if not rows:
        return None
    community_id, url, secret, previous_secret, expires_at, failing_since, *_ = rows[0]
    webhook = Webhook(
        pk=webhook_id,
        community_id=community_id,
        url=url,
        sealed_secret=secret,
        sealed_previous_secret=previous_secret,
        previous_secret_expires_at=expires_at,
        failing_since=failing_since,
    )
    return Batch(webhook, [PendingDelivery(row[6], webhook_id, url, *row[7:]) for row in rows])
