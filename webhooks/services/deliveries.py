"""Deliveries: what became of telling, and telling again (interface 2.10, decisions 10.6)."""

from __future__ import annotations

import uuid
from datetime import datetime

import orjson
from django.db import transaction
from django.db.models import QuerySet

from communities.errors import Conflict, NotFound
from communities.queue import wake
from webhooks import rounding
from webhooks.models import Delivery, Event
from webhooks.services import webhooks
from webhooks.services.outbox import DELIVER


def as_json(delivery: Delivery) -> dict[str, object]:
    """A delivery as it is told (interface 2.10), and why there was no answer. Needs its event loaded."""
    is_retried = delivery.status == Delivery.Status.FAILED
    return {
        "id": str(delivery.pk),
        "webhook_id": str(delivery.webhook_id),
        "event_type": delivery.event.type,
        "event_id": str(delivery.event_id),
        "status": delivery.status,
        "attempt_count": delivery.attempt_count,
        "response_status": delivery.response_status,
        "response_body": delivery.response_body,
        "last_attempt_at": delivery.last_attempt_at,
        "next_retry_at": delivery.due_at if is_retried else None,
        "created_at": delivery.created_at,
        "error": delivery.error,
    }


def listing(
    *, community_id: int, webhook_id: int, status: str | None = None, event_type: str | None = None
) -> QuerySet[Delivery]:
    """A webhook's deliveries, newest first. Refuses a webhook that the community does not have."""
    webhook = webhooks.find(community_id=community_id, webhook_id=webhook_id)
    found = Delivery.objects.filter(webhook_id=webhook.pk)
    if status is not None:
        found = found.filter(status=status)
    if event_type is not None:
        found = found.filter(event__type=event_type)
    return found.select_related("event").defer("event__body").order_by("-created_at", "-pk")


def find(*, community_id: int, delivery_id: uuid.UUID) -> Delivery:
    """One with its event. Refuses one of another community, or of a webhook that was deleted."""
    delivery = (
        Delivery.objects.select_related("event")
        .filter(pk=delivery_id, webhook__community_id=community_id, webhook__deleted_at__isnull=True)
        .first()
    )
    if delivery is None:
        raise NotFound("There is no such delivery.")
    return delivery


def payload(delivery: Delivery) -> object:
    """The body that every attempt sends; None once it is forgotten."""
    body = delivery.event.body
    return None if body is None else orjson.loads(body)


@transaction.atomic
def redeliver(*, community_id: int, delivery_id: uuid.UUID, at: datetime) -> Delivery:
    """Another delivery of the same event to the same webhook, even while it is off.

    Refuses one whose body is forgotten.
    """
    earlier = find(community_id=community_id, delivery_id=delivery_id)
    event = _locked(earlier.event_id)
    if event is None or event.body is None:
        raise Conflict("The body of this event is forgotten, as it is 30 days after it happened.")
    told_at = rounding.down(at, event.rounding)
    again = Delivery.objects.create(
        webhook_id=earlier.webhook_id,
        event=event,
        lane=earlier.lane,
        due_at=told_at,
        even_if_off=True,
        is_settled=event.rounding is None,
        created_at=told_at,
    )
    wake(DELIVER, webhook_id=again.webhook_id, lane=again.lane)
    return again


def _locked(event_id: uuid.UUID) -> Event | None:
    """The event, kept from being forgotten or settled meanwhile.

    Looked for twice: one that was waited for may have been written anew (`housekeeping.settle`).
    """
    own = Event.objects.select_for_update(no_key=True).filter(pk=event_id)
    return own.first() or own.first()
