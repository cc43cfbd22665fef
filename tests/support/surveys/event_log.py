"""Webhooks that listen, and the events written for them. Nothing is sent."""

from __future__ import annotations

import json
from typing import Any

from django.utils import timezone

from webhooks.models import Delivery, Event, Webhook
from webhooks.services import webhooks


def listener(community_id: int, *events: str) -> Webhook:
    """A webhook of a community that listens to these types of events, or to all if none is given."""
    webhook, _ = webhooks.register(
        actor=None,
        community_id=community_id,
        url="https://hooks.example.com/colloquy",
        events=list(events) or ["*"],
        name=None,
        is_active=True,
        at=timezone.now(),
    )
    return webhook


def bodies(community_id: int) -> list[Any]:
    """The bodies of a community's events that somebody listens to, in the order of being written."""
    listened = Delivery.objects.filter(webhook__community_id=community_id).values("event_id")
    events = Event.objects.filter(pk__in=listened).order_by("created_at")
    read = [(event.created_at, json.loads(event.body or "")) for event in events]
    # Events of one moment were written in the order of their objects.
    return [body for _, body in sorted(read, key=lambda each: (each[0], each[1]["timestamp"]))]


def heard(community_id: int) -> list[tuple[str, Any]]:
    """Type and data of each event of a community that somebody listens to, in the order of being written."""
    return [(body["type"], body["data"]) for body in bodies(community_id)]


def told(webhook: Webhook) -> list[str]:
    """The sorted types of the deliveries to one webhook, pending and delivered."""
    return sorted(Delivery.objects.filter(webhook=webhook).values_list("event__type", flat=True))
