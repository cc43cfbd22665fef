"""Writes events, and deliveries to the webhooks that listen, in the transaction of the change they report."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from communities.ground import rounding, wire
from communities.ground.queue import wake
from communities.ground.rounding import Rounding
from communities.ground.statements import prepared
from webhooks.events import ALL, API_VERSION, EventType
from webhooks.models import Delivery

DELIVER = "webhooks.deliver"
# One statement finds the listening webhooks and writes the rows of all events. Events are written even if no
# webhook listens, so that they are listed (`event_listing`). Bodies are sent in binary form: in an array of
# texts each quote would be escaped.
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
        SELECT new.id, %(community_id)s, %(type)s, new.body, new.person_id,
            %(rounding)s::varchar, %(is_settled)s, %(created_at)s
        FROM unnest(%(ids)s::uuid[], %(bodies)b::text[], %(person_ids)s::bigint[])
            AS new(id, body, person_id)
    )
    INSERT INTO webhooks_delivery
        (id, webhook_id, event_id, partition, status, attempt_count, due_at, even_if_off, is_settled,
        created_at)
    SELECT gen_random_uuid(), listening.id, new.id, new.partition, 'pending', 0,
        least(%(created_at)s, now()), %(only_id)s::bigint IS NOT NULL, %(is_settled)s, %(created_at)s
    FROM unnest(%(ids)s::uuid[], %(partitions)s::smallint[]) AS new(id, partition), listening
    RETURNING id, webhook_id, partition
"""
_DEFAULTS = {"only_id": None, "project_id": None, "rounding": None, "is_settled": True}


@dataclass(frozen=True, slots=True)
class Happening:
    """The contents of one event.

    `about` names the object. Events about one object are sent in order, unless an attempt fails or the event
    is about an anonymous response. `person_id` is the user that `data` names, if any.
    """

    about: str
    data: Mapping[str, object]
    person_id: int | None = None


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
    """Write an event, and a delivery for each webhook that listens (rules 9.7 and 9.10). Call inside the
    change's transaction.

    `happened_at` is the time of the change if the change was before `at`. `Happening` and `emit_many` explain
    the other arguments.
    """
    emit_many(
        community_id=community_id,
        type=type,
        happenings=[Happening(about, data, person_id)],
        at=at,
        happened_at=happened_at,
        project_id=project_id,
        rounded_to=rounded_to,
    )


def emit_many(
    *,
    community_id: int,
    type: EventType,
    happenings: Sequence[Happening],
    at: datetime,
    happened_at: datetime | None = None,
    project_id: int | None = None,
    rounded_to: Rounding | None = None,
) -> None:
    """Write events of one type and time as `emit` does, by one statement however many they are.

    The bodies are frozen here. `project_id` is the project that the events are about, if any: webhooks may
    listen to some only. `rounded_to` is set for events about anonymous responses, which store no exact time.
    """
    if not happenings:
        return
    created_at = rounding.down(happened_at or at, rounded_to)
    events = [_event(community_id, type, each.data, created_at) for each in happenings]
    values = {
        "partitions": [_partition_of(each.about) for each in happenings],
        "person_ids": [each.person_id for each in happenings],
        "project_id": project_id,
        "rounding": rounded_to and rounded_to.value,
        "is_settled": rounded_to is None,
        "created_at": rounding.down(at, rounded_to),
    }
    _write(community_id, type, events, values)


def emit_to(
    *, webhook_id: int, community_id: int, type: EventType, data: Mapping[str, object], at: datetime
) -> uuid.UUID:
    """Write an event for one webhook, even if it is off or not subscribed. Returns the delivery's id."""
    event = _event(community_id, type, data, at)
    values = {
        "only_id": webhook_id,
        "partitions": [_partition_of(event["id"])],
        "person_ids": [None],
        "created_at": at,
    }
    [delivery_id] = _write(community_id, type, [event], values)
    return delivery_id


def _event(community_id: int, type: EventType, data: Mapping[str, object], at: datetime) -> dict[str, Any]:
    """The body that every attempt sends (rules 9.8 and 9.9)."""
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


def _write(
    community_id: int, type: EventType, events: Sequence[Mapping[str, Any]], values: Mapping[str, Any]
) -> list[uuid.UUID]:
    """Write events and their deliveries, and wake their workers. Returns the deliveries' ids."""
    assert connection.in_atomic_block, "An event is written in the transaction of its change."
    of_events: dict[str, Any] = {
        "community_id": community_id,
        "type": type.value,
        "subscriptions": [type.value, ALL],
        "ids": [event["id"] for event in events],
        "bodies": [wire.render(event).decode() for event in events],
    }
    with prepared() as cursor:
        cursor.execute(_EMIT, {**_DEFAULTS, **of_events, **values})
        deliveries = cursor.fetchall()
    for webhook_id, partition in {(webhook_id, partition) for _, webhook_id, partition in deliveries}:
        wake(DELIVER, webhook_id=webhook_id, partition=partition)
    return [delivery_id for delivery_id, _, _ in deliveries]
