"""Removes from the outbox: old events and bodies, the write order of anonymous events, and deleted webhooks.

Each function may run twice, also at the same time. None waits for a row lock: locked rows are left for the
next run. Events are locked before their deliveries.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from django.conf import settings
from django.db import connection

from communities.ground import rounding
from communities.ground.rounding import Rounding
from communities.ground.transactions import in_transaction
from communities.ground.undo_period import UNDO_PERIOD
from communities.models import Community
from communities.models.community import TEST_LIFETIME
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook

BODY_LIFETIME = timedelta(days=30)
# On anonymous projects, the bodies of these events are deleted once no delivery is due: the difference
# between two counts would show what a single respondent answered.
TYPES_WITH_COUNTS = (EventType.ANALYSIS_COMPLETED, EventType.ANALYSIS_FAILED)
REMOVAL_DELAY = timedelta(hours=1)  # After this time, no transaction can still write for a deleted webhook.
BATCH_SIZE = 1_000
SETTLED_BATCH_SIZE = 5_000
SETTLED_BYTES = 50_000_000  # of bodies that one transaction rewrites, but for a single larger one

_OLD_EVENTS = """
    SELECT id FROM webhooks_event
    WHERE body IS NOT NULL AND created_at <= %s
    ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED
"""
# This statement is separate from the statement that locks, because only a new snapshot shows deliveries that
# were rewritten in between. If an attempt is running, its outcome is no longer written, because the delivery
# is no longer due.
_DELETE_BODIES = """
    WITH deliveries AS (
        UPDATE webhooks_delivery
        SET response_body = NULL, due_at = NULL,
            status = CASE WHEN due_at IS NULL THEN status ELSE 'abandoned' END
        WHERE event_id = ANY(%s) AND (response_body IS NOT NULL OR due_at IS NOT NULL)
    )
    UPDATE webhooks_event SET body = NULL WHERE id = ANY(%s)
"""
_FINISHED_EVENTS_WITH_COUNTS = """
    SELECT id FROM webhooks_event event
    WHERE body IS NOT NULL AND rounding IS NOT NULL AND type = ANY(%s)
        AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE event_id = event.id AND due_at IS NOT NULL)
    LIMIT %s FOR UPDATE SKIP LOCKED
"""
_REMOVE_EVENTS_WITHOUT_DELIVERIES = """
    DELETE FROM webhooks_event event
    WHERE id = ANY(%s) AND created_at <= %s
        AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE event_id = event.id)
"""
# The index of the newest events of a type finds the oldest ones too.
_EVENTS_TO_REMOVE = """
    SELECT id FROM webhooks_event event
    WHERE type = %s AND created_at <= %s AND body IS NULL
        AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE event_id = event.id AND due_at IS NOT NULL)
    ORDER BY type DESC, created_at, id LIMIT %s FOR UPDATE SKIP LOCKED
"""
_EVENTS_OF_TESTS = """
    SELECT id FROM webhooks_event event
    WHERE community_id = ANY(%s) AND created_at <= %s AND body IS NULL
        AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE event_id = event.id AND due_at IS NOT NULL)
    LIMIT %s FOR UPDATE SKIP LOCKED
"""
# Their bodies were deleted before, so `_OLD_EVENTS` does not find them.
_REMOVE_EVENTS_WITH_COUNTS = """
    DELETE FROM webhooks_event WHERE id = ANY(ARRAY(
        SELECT id FROM webhooks_event event
        WHERE body IS NULL AND rounding IS NOT NULL AND type = ANY(%s) AND created_at <= %s
            AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE event_id = event.id)
        FOR UPDATE SKIP LOCKED
    ))
"""

_EVENT_COLUMNS = ", ".join(
    str(field.column) for field in Event._meta.concrete_fields if field.name != "is_settled"
)
_DELIVERY_COLUMNS = ", ".join(
    str(field.column) for field in Delivery._meta.concrete_fields if field.name != "is_settled"
)
_IS_OVER = f"< CASE rounding WHEN '{Rounding.DAY}' THEN %s ELSE %s END"
_EVENTS_TO_SETTLE = f"""
    SELECT id, coalesce(octet_length(body), 0) FROM webhooks_event
    WHERE NOT is_settled AND created_at < %s AND created_at {_IS_OVER}
    ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
# The statement locks the event, too. While another process rewrites the event, no row can refer to it.
_DELIVERIES_TO_SETTLE = f"""
    SELECT delivery.id
    FROM webhooks_delivery delivery JOIN webhooks_event event ON event.id = delivery.event_id
    WHERE NOT delivery.is_settled AND delivery.created_at < %s
        AND greatest(delivery.created_at, last_attempt_at) {_IS_OVER}
    ORDER BY delivery.id LIMIT %s
    FOR KEY SHARE OF event SKIP LOCKED FOR UPDATE OF delivery SKIP LOCKED
"""
# This is one statement, so its parts share one snapshot, and foreign keys are checked at the commit. The sort
# makes the inserts wait until every row is deleted.
_REWRITE = f"""
    WITH deliveries AS (DELETE FROM webhooks_delivery WHERE id = ANY(%s) RETURNING {_DELIVERY_COLUMNS}),
    events AS (DELETE FROM webhooks_event WHERE id = ANY(%s) RETURNING {_EVENT_COLUMNS}),
    written AS (
        INSERT INTO webhooks_event ({_EVENT_COLUMNS}, is_settled)
        SELECT {_EVENT_COLUMNS}, TRUE FROM events ORDER BY id
    )
    INSERT INTO webhooks_delivery ({_DELIVERY_COLUMNS}, is_settled)
    SELECT {_DELIVERY_COLUMNS}, TRUE FROM deliveries ORDER BY id
"""

_DELIVERIES_TO_REMOVE = """
    SELECT delivery.id, event.id
    FROM webhooks_delivery delivery JOIN webhooks_event event ON event.id = delivery.event_id
    WHERE delivery.webhook_id = %s
    LIMIT %s
    FOR UPDATE OF event SKIP LOCKED FOR UPDATE OF delivery SKIP LOCKED
"""
_REMOVE_WEBHOOK_WITHOUT_DELIVERIES = """
    DELETE FROM webhooks_webhook webhook
    WHERE id = %s AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE webhook_id = webhook.id)
"""


def delete_bodies(*, at: datetime) -> int:
    """Delete bodies and endpoints' responses 30 days after their event. Returns the number of events.

    Deliveries that are still due are abandoned. Outcomes and errors stay, with their events; events without
    deliveries are deleted. The body of an event with counts of an anonymous project is deleted as soon as
    none of its deliveries is due; if no webhook listens, at once.
    """
    types, oldest = [type.value for type in TYPES_WITH_COUNTS], at - BODY_LIFETIME
    total = _delete(_OLD_EVENTS, oldest, oldest=oldest)
    total += _delete(_FINISHED_EVENTS_WITH_COUNTS, types, oldest=oldest)
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE_EVENTS_WITH_COUNTS, [types, oldest])
    return total


def remove_old(*, at: datetime) -> int:
    """Remove events that are older than EVENT_DAYS, of test sides 30 days, with their deliveries.

    Returns the number of events. An event stays while it has its body, which `delete_bodies` deletes, and
    while one of its deliveries is due.
    """
    oldest, total = at - timedelta(days=settings.EVENT_DAYS), 0
    tests = list(Community.objects.filter(test_of__isnull=False).values_list("pk", flat=True))
    selections: list[tuple[str, list[Any]]] = [
        *((_EVENTS_TO_REMOVE, [type.value, oldest]) for type in EventType),
        (_EVENTS_OF_TESTS, [tests, at - TEST_LIFETIME]),
    ]
    for selection, values in selections:
        last = BATCH_SIZE
        while last == BATCH_SIZE:
            with in_transaction, connection.cursor() as cursor:
                cursor.execute(selection, [*values, BATCH_SIZE])
                ids = [row[0] for row in cursor.fetchall()]
                cursor.execute("DELETE FROM webhooks_delivery WHERE event_id = ANY(%s)", [ids])
                cursor.execute("DELETE FROM webhooks_event WHERE id = ANY(%s)", [ids])
            last = len(ids)
            total += last
    return total


def _delete(selection: str, value: datetime | list[str], *, oldest: datetime) -> int:
    total = 0
    while True:
        with in_transaction, connection.cursor() as cursor:
            cursor.execute(selection, [value, BATCH_SIZE])
            event_ids = [row[0] for row in cursor.fetchall()]
            cursor.execute(_DELETE_BODIES, [event_ids, event_ids])
            cursor.execute(_REMOVE_EVENTS_WITHOUT_DELIVERIES, [event_ids, oldest])
        total += len(event_ids)
        if len(event_ids) < BATCH_SIZE:
            return total


def settle_anonymous_deliveries(*, at: datetime) -> int:
    """Rewrite rows about anonymous responses once their hour, or day, is over. Returns the number of rows.

    The position of a row in its table, and the transaction that wrote it, would reveal two things: the XP
    ledger entry that the same transaction wrote for a member, and the exact times of neighbouring rows. So
    the rows are deleted and inserted again, many in one transaction and ordered by their random ids;
    deliveries once more after each attempt. The new position reveals no more than the hour of the last
    change, which the row contains anyway. So no other rows have to be written with them. A delivery may be
    rewritten while it is being sent: code that writes an outcome has to look for the row twice.
    """
    hour, day = rounding.down(at, Rounding.HOUR), rounding.down(at, Rounding.DAY)
    values: list[Any] = [hour, day, hour, SETTLED_BATCH_SIZE]
    total = 0
    while True:
        with in_transaction, connection.cursor() as cursor:
            cursor.execute(_EVENTS_TO_SETTLE, values)
            found = cursor.fetchall()
            before = accumulate((size for _, size in found), initial=0)
            event_ids = [row[0] for row, sum_ in zip(found, before, strict=False) if sum_ < SETTLED_BYTES]
            cursor.execute(_DELIVERIES_TO_SETTLE, values)
            delivery_ids = [row[0] for row in cursor.fetchall()]
            if event_ids or delivery_ids:
                cursor.execute(_REWRITE, [delivery_ids, event_ids])
        total += len(event_ids) + len(delivery_ids)
        if len(event_ids) == len(found) and max(len(found), len(delivery_ids)) < SETTLED_BATCH_SIZE:
            return total


def remove_deleted(*, at: datetime) -> int:
    """Remove webhooks an hour after their deletion, with their deliveries. Those of test sides are deleted
    after 30 days.

    Events that no other webhook received stay until they are 30 days old. Secrets are deleted as soon as the
    deletion cannot be undone. Returns the number of webhooks removed.
    """
    old_tests = Webhook.objects.filter(community__test_of__isnull=False, created_at__lte=at - TEST_LIFETIME)
    old_tests.filter(deleted_at=None).update(deleted_at=at - UNDO_PERIOD, is_active=False)
    beyond_undo = Webhook.objects.filter(deleted_at__lte=at - UNDO_PERIOD).exclude(sealed_secret=b"")
    beyond_undo.update(sealed_secret=b"", sealed_previous_secret=None, previous_secret_expires_at=None)
    deleted = Webhook.objects.filter(deleted_at__lte=at - REMOVAL_DELAY).order_by("pk")
    ids = deleted.values_list("pk", flat=True)
    return sum(_remove(webhook_id, oldest=at - BODY_LIFETIME) for webhook_id in ids)


def _remove(webhook_id: int, *, oldest: datetime) -> int:
    """Remove one webhook. Returns 1, or 0 if some of its rows are locked."""
    while _remove_deliveries(webhook_id, oldest=oldest) == BATCH_SIZE:
        pass
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE_WEBHOOK_WITHOUT_DELIVERIES, [webhook_id])
        return int(cursor.rowcount)


@in_transaction
def _remove_deliveries(webhook_id: int, *, oldest: datetime) -> int:
    """Remove a batch of deliveries, and the old events that no other webhook received."""
    with connection.cursor() as cursor:
        cursor.execute(_DELIVERIES_TO_REMOVE, [webhook_id, BATCH_SIZE])
        rows = cursor.fetchall()
        cursor.execute("DELETE FROM webhooks_delivery WHERE id = ANY(%s)", [[row[0] for row in rows]])
        cursor.execute(_REMOVE_EVENTS_WITHOUT_DELIVERIES, [[row[1] for row in rows], oldest])
    return len(rows)
