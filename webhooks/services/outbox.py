"""Writes events, and deliveries to the webhooks that listen, in the transaction of the change they report."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection

from communities import rounding, wire
from communities.queue import wake
from communities.rounding import Rounding
from communities.statements import prepared
from webhooks.events import ALL, API_VERSION, EventType
from webhooks.models import Delivery

DELIVER = "webhooks.deliver"
# One statement finds the listeners and writes the rows. The event is written even if nobody listens, so that
# it is listed (`event_listing`).
_EMIT = """
    WITH listening AS MATERIALIZED (
        SELECT id FROM webhooks_webhook
        WHERE community_id = %(community_id)s
            AND (id = %(only_id)s::bigint OR %(only_id)s::bigint IS NULL
                AND is_active AND deleted_at IS NULL AND events && %(subscriptions)s::varchar[]
                AND (project_ids IS NULL OR %(project_id)s::bigint IS NULL
                    OR %(project_id)s::bigint = ANY(project_ids)))
    ), event AS (
        INSERT INTO webhooks_event
            (id, community_id, type, body, person_id, rounding, is_settled, created_at)
        SELECT %(id)s::uuid, %(community_id)s, %(type)s, %(body)s, %(person_id)s::bigint,
            %(rounding)s::varchar, %(is_settled)s, %(created_at)s
    )
    INSERT INTO webhooks_delivery
        (id, webhook_id, event_id, lane, status, attempt_count, due_at, even_if_off, is_settled, created_at)
    SELECT gen_random_uuid(), id, %(id)s::uuid, %(lane)s, 'pending', 0,
        least(%(created_at)s, now()), %(only_id)s::bigint IS NOT NULL, %(is_settled)s, %(created_at)s
    FROM listening
    RETURNING id, webhook_id, lane
"""
_DEFAULTS = {"only_id": None, "project_id": None, "person_id": None, "rounding": None, "is_settled": True}


def emit(
    *,
    community_id: int,
    type: EventType,
    data: Mapping[str, object],
    at: datetime,
    happened_at: datetime | None = None,
    about: str,
    project_id: int | None = None,
    person_id: int | None = None,
    rounded_to: Rounding | None = None,
) -> None:
    """Write an event, and a delivery for each webhook that listens. Call inside the change's transaction.

    The body is frozen here. `happened_at` is the time of the change if that was before `at`. `about` names
    the object: events about one object are sent in order, unless an attempt fails or the event is about an
    anonymous response. `project_id` is the project that the event is about, if any: webhooks may listen to
    some only. `person_id` is the user that `data` names, if any. `rounded_to` is set for events
    about anonymous responses, which store no exact time.
    """
    created_at = rounding.down(happened_at or at, rounded_to)
    event = _event(community_id, type, data, created_at)
    values = {
        "lane": _partition_of(about),
        "project_id": project_id,
        "person_id": person_id,
        "rounding": rounded_to and rounded_to.value,
        "is_settled": rounded_to is None,
        "created_at": rounding.down(at, rounded_to),
    }
    _write(event, values)


def emit_to(
    *, webhook_id: int, community_id: int, type: EventType, data: Mapping[str, object], at: datetime
) -> uuid.UUID:
    """Write an event for one webhook, even if it is off or not subscribed. Returns the delivery's id."""
    event = _event(community_id, type, data, at)
    values = {"only_id": webhook_id, "lane": _partition_of(event["id"]), "created_at": at}
    [delivery_id] = _write(event, values)
    return delivery_id


def _event(community_id: int, type: EventType, data: Mapping[str, object], at: datetime) -> dict[str, Any]:
    """The body that every attempt sends (decisions 10.3)."""
    return {
        "id": str(uuid.uuid4()),
        "type": type.value,
        "timestamp": at,
        "api_version": API_VERSION,
        "community_id": str(community_id),
        "data": data,
    }


def _partition_of(about: str) -> int:
    return zlib.crc32(about.encode()) % Delivery.PARTITIONS


def _write(event: Mapping[str, Any], values: Mapping[str, Any]) -> list[uuid.UUID]:
    """Write the event and its deliveries, and wake their workers. Returns the deliveries' ids."""
    assert connection.in_atomic_block, "An event is written in the transaction of its change."
    of_event = {
        "id": event["id"],
        "community_id": int(event["community_id"]),
        "type": event["type"],
        "subscriptions": [event["type"], ALL],
        "body": wire.render(event).decode(),
    }
    with prepared() as cursor:
        cursor.execute(_EMIT, {**_DEFAULTS, **of_event, **values})
        deliveries = cursor.fetchall()
    for _, webhook_id, partition in deliveries:
        wake(DELIVER, webhook_id=webhook_id, lane=partition)
    return [delivery_id for delivery_id, _, _ in deliveries]
