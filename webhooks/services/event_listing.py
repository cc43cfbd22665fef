"""Events as they were emitted, listed page by page, whether a webhook listens or not (decisions 15.23)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Q, QuerySet

from communities.errors import NotFound
from webhooks.events import API_VERSION
from webhooks.models import Event
from webhooks.services.housekeeping import BODY_LIFETIME

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventPage:
    events: Sequence[Json]
    has_more: bool


def page(
    *,
    community_id: int,
    type: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: uuid.UUID | None = None,
    per_page: int,
    at: datetime,
) -> EventPage:
    """A page of a community's events of the last 30 days, newest first; it costs the same at any depth.

    `since` is inclusive, `until` is not. With `after`, the page starts after that event. Raises NotFound if
    there is no such event.
    """
    events = _kept(community_id, at)
    if after is not None:
        events = _older_than(events, after)
    if type is not None:
        events = events.filter(type=type)
    if since is not None:
        events = events.filter(created_at__gte=since)
    if until is not None:
        events = events.filter(created_at__lt=until)
    rows = list(events.order_by("-created_at", "-pk")[: per_page + 1])
    return EventPage([_as_json(row) for row in rows[:per_page]], has_more=len(rows) > per_page)


def _kept(community_id: int, at: datetime) -> QuerySet[Event]:
    return Event.objects.filter(community_id=community_id, created_at__gt=at - BODY_LIFETIME)


def _older_than(events: QuerySet[Event], event_id: uuid.UUID) -> QuerySet[Event]:
    created_at = events.filter(pk=event_id).values_list("created_at", flat=True).first()
    if created_at is None:
        raise NotFound("There is no such event.")
    # The first condition is implied by the second; the index is entered by it.
    return events.filter(
        Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=event_id), created_at__lte=created_at
    )


def _as_json(event: Event) -> Json:
    """The body as it is delivered. Without one, only `data` is unknown: see `housekeeping.delete_bodies`."""
    if event.body is not None:
        body: Json = orjson.loads(event.body)
        return body
    return {
        "id": str(event.pk),
        "type": event.type,
        "timestamp": event.created_at,
        "api_version": API_VERSION,
        "community_id": str(event.community_id),
        "data": None,
    }
