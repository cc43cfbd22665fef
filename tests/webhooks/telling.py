"""Webhooks, and what they are told, written as the outbox writes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection, transaction

from communities.models import Community
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.sender import Answer
from webhooks.services import outbox, outcomes
from webhooks.services.due import Due
from webhooks.services.outcomes import Attempt

NOON = datetime(2026, 1, 31, 12, 34, 56, tzinfo=UTC)
WHERE = "https://hooks.example.org/colloquy"


def community(number: int = 1) -> Community:
    return Community.objects.get_or_create(id=number, defaults={"name": f"Community {number}"})[0]


def webhook(of: Community | None = None, **fields: Any) -> Webhook:
    """One that listens to everything, unless `events` says less."""
    return Webhook.objects.create(
        **{
            "community": of or community(),
            "name": "Club website",
            "url": WHERE,
            "events": ["*"],
            "sealed_secret": b"sealed",
            "secret_prefix": "whsec_Ab12",
            "created_at": NOON,
            "updated_at": NOON,
            **fields,
        }
    )


def tell(
    type: EventType = EventType.RESPONSE_SUBMITTED,
    data: Any = None,
    *,
    of: Community | None = None,
    at: datetime = NOON,
    about: str | None = None,
    **fields: Any,
) -> Event:
    """The event that everybody who listens is told; about an object of its own, unless one is named."""
    before = set(Event.objects.values_list("pk", flat=True))
    with transaction.atomic():
        outbox.emit(
            community_id=(of or community()).pk,
            type=type,
            data=data or {},
            at=at,
            about=about or str(uuid4()),
            **fields,
        )
    return Event.objects.exclude(pk__in=before).get()


def comes_out(delivery: Delivery, answer: Answer, *, at: datetime) -> bool:
    """What a worker writes whose attempt began when the delivery was as it is given here."""
    event = delivery.event
    due = Due(
        id=delivery.pk,
        webhook_id=delivery.webhook_id,
        url=delivery.webhook.url,
        attempt_count=delivery.attempt_count,
        event_id=event.pk,
        body=event.body or "",
        person_id=event.person_id,
        rounding=event.rounding,
    )
    attempt = Attempt(begun_at=at, ended_at=at, answer=answer)
    return outcomes.write(due, attempt, outcomes.judge(attempt, attempts=due.attempt_count + 1, jitter=0))


def tried(event: Event, **outcome: Any) -> Delivery:
    """Its only delivery, as an attempt left it."""
    is_over = outcome.get("status") in ("delivered", "abandoned")
    event.deliveries.update(attempt_count=1, **({"due_at": None} if is_over else {}), **outcome)
    return event.deliveries.get()


def rows(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


@contextmanager
def held_by_another(table: str, key: UUID) -> Iterator[None]:
    """The row is locked, on another connection."""
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR UPDATE", [key])
        yield
    finally:
        other.rollback()
        other.close()


def at_once(*moves: Callable[[], Any]) -> list[Any]:
    """Each in a thread with a connection of its own; what came of each."""
    results: list[Any] = [None] * len(moves)
    ready = threading.Barrier(len(moves))

    def run(n: int, move: Callable[[], Any]) -> None:
        try:
            ready.wait()
            results[n] = move()
        except Exception as fault:
            results[n] = fault
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(moves)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
