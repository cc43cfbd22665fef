"""Deliveries: their status, and delivering again (interface 2.10, decisions 10.6)."""

from __future__ import annotations

import uuid
from datetime import datetime

import orjson
from django.db.models import QuerySet

from communities import rounding
from communities.errors import Conflict, NotFound
from communities.queue import wake
from communities.transactions import in_transaction
from webhooks.models import Delivery, Event
from webhooks.services import webhooks
from webhooks.services.outbox import DELIVER


def as_json(delivery: Delivery) -> dict[str, object]:
    """A delivery as the interface shows it (interface 2.10), and its error. Needs its event loaded."""
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


def deliveries_of(
    *, community_id: int, webhook_id: int, status: str | None = None, event_type: str | None = None
) -> QuerySet[Delivery]:
    """A webhook's deliveries, newest first. Refuses a webhook that the community does not have."""
    webhook = webhooks.find(community_id=community_id, webhook_id=webhook_id)
    deliveries = Delivery.objects.filter(webhook_id=webhook.pk)
    if status is not None:
        deliveries = deliveries.filter(status=status)
    if event_type is not None:
        deliveries = deliveries.filter(event__type=event_type)
    return deliveries.select_related("event").defer("event__body").order_by("-created_at", "-pk")


def find(*, community_id: int, delivery_id: uuid.UUID) -> Delivery:
    """A delivery with its event. Refuses one of another community, or of a deleted webhook."""
    delivery = (
        Delivery.objects.select_related("event")
        .filter(pk=delivery_id, webhook__community_id=community_id, webhook__deleted_at__isnull=True)
        .first()
    )
    if delivery is None:
        raise NotFound("There is no such delivery.")
    return delivery


def payload(delivery: Delivery) -> object:
    """The body that every attempt sends; None once it has been deleted."""
    body = delivery.event.body
    return None if body is None else orjson.loads(body)


@in_transaction
def redeliver(*, community_id: int, delivery_id: uuid.UUID, at: datetime) -> Delivery:
    """Create another delivery of the same event to the same webhook, even if the webhook is off.

    Refuses an event whose body has been deleted.
    """
    original = find(community_id=community_id, delivery_id=delivery_id)
    event = _locked(original.event_id)
    if event is None or event.body is None:
        raise Conflict("This event cannot be delivered again: its body was deleted 30 days after the event.")
    created_at = rounding.down(at, event.rounding)
    delivery = Delivery.objects.create(
        webhook_id=original.webhook_id,
        event=event,
        lane=original.lane,
        due_at=created_at,
        even_if_off=True,
        is_settled=event.rounding is None,
        created_at=created_at,
    )
    wake(DELIVER, webhook_id=delivery.webhook_id, lane=delivery.lane)
    return delivery


def _locked(event_id: uuid.UUID) -> Event | None:
    """The event, locked so that its body is not deleted and the row not rewritten.

    Reads twice: if the lock had to wait for `housekeeping`, the row may have been replaced by a new one.
    """
    events = Event.objects.select_for_update(no_key=True).filter(pk=event_id)
    return events.first() or events.first()
