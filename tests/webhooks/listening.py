"""Webhooks for tests, and events for them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from communities.models import Community
from tests.surveys.calling import NOON, Caller
from tests.webhooks.telling import tell
from webhooks.events import EventType
from webhooks.models import Delivery, Webhook
from webhooks.rounding import Rounding

URL = "https://example.com/colloquy"


def listen(caller: Caller, **fields: object) -> dict[str, Any]:
    """A new webhook, as its registration answers it."""
    answer = caller.post("/webhooks", {"url": URL, "events": ["*"], **fields})
    assert answer.status_code == 201, answer.content
    return answer.json()


def row(webhook: Mapping[str, Any]) -> Webhook:
    return Webhook.objects.get(pk=webhook["id"])


def happen(
    community: Community,
    type: EventType = EventType.PROJECT_OPENED,
    *,
    at: datetime = NOON,
    rounded_to: Rounding | None = None,
) -> Delivery:
    """Something happens, of which exactly one webhook hears: its delivery."""
    event = tell(type, {"text": "Où?"}, of=community, at=at, rounded_to=rounded_to)
    return Delivery.objects.select_related("event").get(event=event)
