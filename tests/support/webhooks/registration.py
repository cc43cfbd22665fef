"""Webhooks registered through the API, and events for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from communities.ground.rounding import Rounding
from communities.models import Community
from tests.support.caller import Caller
from tests.support.moments import NOON
from tests.support.webhooks.outbox import emit_event
from webhooks.events import EventType
from webhooks.models import Delivery, Webhook

URL = "https://example.com/colloquy"


def register_webhook(caller: Caller, **fields: object) -> dict[str, Any]:
    """A new webhook, as the API returns it."""
    response = caller.post("/webhooks", {"url": URL, "events": ["*"], **fields})
    assert response.status_code == 201, response.content
    return response.json()


def row(webhook: Mapping[str, Any]) -> Webhook:
    return Webhook.objects.get(pk=webhook["id"])


def emit_delivery(
    community: Community,
    type: EventType = EventType.PROJECT_OPENED,
    *,
    at: datetime = NOON,
    rounded_to: Rounding | None = None,
) -> Delivery:
    """The delivery of a new event that exactly one webhook listens to."""
    event = emit_event(type, {"text": "Où?"}, community=community, at=at, rounded_to=rounded_to)
    return Delivery.objects.select_related("event").get(event=event)
