"""What the outbox loses with time: what was sent, the order in which it was written, and webhooks deleted.

Each may run twice, and beside itself. Nobody is waited for: rows that somebody holds are left for the next
run. Events are locked before their deliveries.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from webhooks import rounding
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.rounding import Rounding

BODIES_LIVE = timedelta(days=30)
# What they count together, one after the other, would tell what each single anonymous respondent answered.
SUMS = (EventType.ANALYSIS_COMPLETED, EventType.ANALYSIS_FAILED)
DELETED_REST = timedelta(hours=1)  # so that nobody who listened for it writes for it any more
AT_ONCE = 1_000
SETTLED_AT_ONCE = 5_000

_OLD = """
    SELECT id FROM webhooks_event
    WHERE body IS NOT NULL AND created_at <= %s
    ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED
"""
# A statement after the one that locks: deliveries that were written anew meanwhile are seen by it alone.
# An attempt may be under way: its outcome is written only while the delivery is due, so not after this.
_FORGET = """
    WITH of_old AS (
        UPDATE webhooks_delivery
        SET response_body = NULL, due_at = NULL,
            status = CASE WHEN due_at IS NULL THEN status ELSE 'abandoned' END
        WHERE event_id = ANY(%s) AND (response_body IS NOT NULL OR due_at IS NOT NULL)
    )
    UPDATE webhooks_event SET body = NULL WHERE id = ANY(%s)
"""
_SUMS = """
    SELECT id FROM webhooks_event event
    WHERE body IS NOT NULL AND rounding IS NOT NULL AND type = ANY(%s)
        AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE event_id = event.id AND due_at IS NOT NULL)
    LIMIT %s FOR UPDATE SKIP LOCKED
"""

_EVENT = ", ".join(str(each.column) for each in Event._meta.concrete_fields if each.name != "is_settled")
_DELIVERY = ", ".join(
    str(each.column) for each in Delivery._meta.concrete_fields if each.name != "is_settled"
)
_IS_OVER = f"< CASE rounding WHEN '{Rounding.DAY}' THEN %s ELSE %s END"
_EVENTS_TO_SETTLE = f"""
    SELECT id FROM webhooks_event
    WHERE NOT is_settled AND created_at < %s AND created_at {_IS_OVER}
    ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
# The event is held too: while it is being written anew elsewhere, nothing can refer to it.
_DELIVERIES_TO_SETTLE = f"""
    SELECT delivery.id
    FROM webhooks_delivery delivery JOIN webhooks_event event ON event.id = delivery.event_id
    WHERE NOT delivery.is_settled AND delivery.created_at < %s
        AND greatest(delivery.created_at, last_attempt_at) {_IS_OVER}
    ORDER BY delivery.id LIMIT %s
    FOR KEY SHARE OF event SKIP LOCKED FOR UPDATE OF delivery SKIP LOCKED
"""
# One statement: its parts see one snapshot, and foreign keys are checked at the commit. Sorting waits until
# everything is deleted.
_WRITE_ANEW = f"""
    WITH deliveries AS (DELETE FROM webhooks_delivery WHERE id = ANY(%s) RETURNING {_DELIVERY}),
    events AS (DELETE FROM webhooks_event WHERE id = ANY(%s) RETURNING {_EVENT}),
    written AS (
        INSERT INTO webhooks_event ({_EVENT}, is_settled) SELECT {_EVENT}, TRUE FROM events ORDER BY id
    )
    INSERT INTO webhooks_delivery ({_DELIVERY}, is_settled)
    SELECT {_DELIVERY}, TRUE FROM deliveries ORDER BY id
"""

_DELIVERIES_TO_REMOVE = """
    SELECT delivery.id, event.id
    FROM webhooks_delivery delivery JOIN webhooks_event event ON event.id = delivery.event_id
    WHERE delivery.webhook_id = %s
    LIMIT %s
    FOR UPDATE OF event SKIP LOCKED FOR UPDATE OF delivery SKIP LOCKED
"""
_REMOVE_UNHEARD = """
    DELETE FROM webhooks_event event
    WHERE id = ANY(%s) AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE event_id = event.id)
"""
_REMOVE_EMPTY = """
    DELETE FROM webhooks_webhook webhook
    WHERE id = %s AND NOT EXISTS (SELECT FROM webhooks_delivery WHERE webhook_id = webhook.id)
"""


def forget_bodies(*, at: datetime) -> int:
    """Forget what was sent and what was answered, 30 days after it happened; of how many events.

    What is still due of them is abandoned. Outcomes and reasons stay. What was counted of an anonymous
    project is forgotten as soon as nothing of it is due.
    """
    sums = [type.value for type in SUMS]
    return _forget(_OLD, at - BODIES_LIVE) + _forget(_SUMS, sums)


def _forget(chosen: str, by: datetime | list[str]) -> int:
    forgotten = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(chosen, [by, AT_ONCE])
            events = [row[0] for row in cursor.fetchall()]
            cursor.execute(_FORGET, [events, events])
        forgotten += len(events)
        if len(events) < AT_ONCE:
            return forgotten


def settle(*, at: datetime) -> int:
    """Write anew what tells of anonymous responses and whose hour, or day, is over; how many rows.

    Where a row stands in its table, and the transaction that wrote it, would join the response to the row of
    the ledger that the same move wrote about a member, and to the exact times of neighbours. So they are
    written once more, many in one transaction and in the order of their random ids; deliveries again after
    each attempt. Beside the hour in which a row was changed, which stands on it, the new place tells nothing,
    so nothing else is written with them. What is being sent at this moment may be written anew too: whoever
    writes its outcome has to look for it twice.
    """
    hour, day = rounding.down(at, Rounding.HOUR), rounding.down(at, Rounding.DAY)
    due: list[Any] = [hour, day, hour, SETTLED_AT_ONCE]
    settled = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_EVENTS_TO_SETTLE, due)
            events = [row[0] for row in cursor.fetchall()]
            cursor.execute(_DELIVERIES_TO_SETTLE, due)
            deliveries = [row[0] for row in cursor.fetchall()]
            if events or deliveries:
                cursor.execute(_WRITE_ANEW, [deliveries, events])
        settled += len(events) + len(deliveries)
        if max(len(events), len(deliveries)) < SETTLED_AT_ONCE:
            return settled


def remove_deleted(*, at: datetime) -> int:
    """Remove webhooks that were deleted an hour ago, with all that was written for them alone; how many."""
    due = Webhook.objects.filter(deleted_at__lte=at - DELETED_REST).order_by("pk")
    return sum(_remove(webhook_id) for webhook_id in due.values_list("pk", flat=True))


def _remove(webhook_id: int) -> int:
    """1, or 0 where somebody holds some of its rows."""
    while _remove_deliveries(webhook_id) == AT_ONCE:
        pass
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE_EMPTY, [webhook_id])
        return int(cursor.rowcount)


@transaction.atomic
def _remove_deliveries(webhook_id: int) -> int:
    """Some deliveries of a webhook, and events that nobody else was told of; how many deliveries."""
    with connection.cursor() as cursor:
        cursor.execute(_DELIVERIES_TO_REMOVE, [webhook_id, AT_ONCE])
        found = cursor.fetchall()
        cursor.execute("DELETE FROM webhooks_delivery WHERE id = ANY(%s)", [[row[0] for row in found]])
        cursor.execute(_REMOVE_UNHEARD, [[row[1] for row in found]])
    return len(found)
