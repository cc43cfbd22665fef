"""Rows of the outbox: webhooks, events written by the outbox itself, and outcomes of attempts."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import transaction

from communities.models import Community
from tests.factories import DeliveryFactory, WebhookFactory
from tests.support.moments import LUNCHTIME
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.sender import EndpointResponse
from webhooks.services import outbox, outcomes
from webhooks.services.outcomes import Attempt
from webhooks.services.pending import PendingDelivery

MID_HOUR = LUNCHTIME.replace(microsecond=0)


def get_community(number: int = 1) -> Community:
    return Community.objects.get_or_create(id=number, defaults={"name": f"Community {number}"})[0]


def create_webhook(community: Community | None = None, **fields: Any) -> Webhook:
    """A webhook of the first community, subscribed to everything, unless the arguments say otherwise."""
    defaults = {"created_at": MID_HOUR, "updated_at": MID_HOUR}
    return WebhookFactory.create(community=community or get_community(), **{**defaults, **fields})


def emit_event(
    type: EventType = EventType.RESPONSE_SUBMITTED,
    data: Any = None,
    *,
    community: Community | None = None,
    at: datetime = MID_HOUR,
    about: str | None = None,
    **fields: Any,
) -> Event:
    """An event written for every webhook that listens, about a new object unless `about` names one."""
    earlier = set(Event.objects.values_list("pk", flat=True))
    with transaction.atomic():
        outbox.emit(
            community_id=(community or get_community()).pk,
            type=type,
            data=data or {},
            at=at,
            about=about or str(uuid4()),
            **fields,
        )
    return Event.objects.exclude(pk__in=earlier).get()


def write_outcome(delivery: Delivery, response: EndpointResponse, *, at: datetime) -> bool:
    """Write an outcome like a worker that has read the delivery in this state."""
    event = delivery.event
    pending = PendingDelivery(
        id=delivery.pk,
        webhook_id=delivery.webhook_id,
        url=delivery.webhook.url,
        attempt_count=delivery.attempt_count,
        event_id=event.pk,
        body=event.body or "",
        person_id=event.person_id,
        rounding=event.rounding,
    )
    attempt = Attempt(began_at=at, ended_at=at, response=response)
    outcome = outcomes.judge(attempt, attempts=pending.attempt_count + 1, jitter=0)
    return outcomes.write(pending, attempt, outcome)


def record_attempt(event: Event, **fields: Any) -> Delivery:
    """The event's only delivery, changed like after one attempt."""
    is_over = fields.get("status") in ("delivered", "abandoned")
    event.deliveries.update(attempt_count=1, **({"due_at": None} if is_over else {}), **fields)
    return event.deliveries.get()


def unsaved_event(**fields: Any) -> Event:
    defaults = {"community_id": 1, "type": "webhook.ping", "body": "{}", "created_at": MID_HOUR}
    return Event(**{**defaults, **fields})


def create_delivery(webhook: Webhook, event: Event, **fields: Any) -> Delivery:
    """Save an event, and a delivery as old as the event and due since then."""
    event.community_id = webhook.community_id
    event.save()
    return DeliveryFactory.create(webhook=webhook, event=event, **fields)
