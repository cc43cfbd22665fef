"""Emitted events, listed page by page, whether a webhook listens or not (rule 9.11)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Q, QuerySet

from communities.ground.errors import NotFound
from communities.ground.statements import page_up_to_size
from webhooks.events import API_VERSION
from webhooks.models import Event
from webhooks.services.housekeeping import BODY_LIFETIME

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventPage:
    events: Sequence[Json | orjson.Fragment]
    has_more: bool


def page(
    *,
    community_id: int,
    type: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: uuid.UUID | None = None,
    oldest_first: bool = False,
    per_page: int,
    at: datetime,
) -> EventPage:
    """Return a page of a community's events of the last 30 days. The cost is the same at any depth.

    Newest first, or `oldest_first`. `since` is inclusive, `until` is not. With `after`, the page starts after
    that event in the same order. A page of long events ends early. Raises NotFound if there is no such event.
    """
    events = _kept(community_id, at)
    if after is not None:
        events = _beyond(events, after, oldest_first=oldest_first)
    if type is not None:
        events = events.filter(type=type)
    if since is not None:
        events = events.filter(created_at__gte=since)
    if until is not None:
        events = events.filter(created_at__lt=until)
    order = ("created_at", "pk") if oldest_first else ("-created_at", "-pk")
    rows, has_more = page_up_to_size(events.order_by(*order), texts=["body"], per_page=per_page)
    return EventPage([_as_json(row) for row in rows], has_more=has_more)


def _kept(community_id: int, at: datetime) -> QuerySet[Event]:
    return Event.objects.filter(community_id=community_id, created_at__gt=at - BODY_LIFETIME)


def _beyond(events: QuerySet[Event], event_id: uuid.UUID, *, oldest_first: bool) -> QuerySet[Event]:
    """The events after this one in the order of the list."""
    created_at = events.filter(pk=event_id).values_list("created_at", flat=True).first()
    if created_at is None:
        raise NotFound("There is no such event.")
    side = "gt" if oldest_first else "lt"
    return events.filter(
        Q(**{f"created_at__{side}": created_at}) | Q(**{f"pk__{side}": event_id}, created_at=created_at),
        # The condition before implies this condition, which makes the index usable.
        **{f"created_at__{side}e": created_at},
    )


def _as_json(event: Event) -> Json | orjson.Fragment:
    """Return the body in the form in which it is delivered.

    If it was deleted, only `data` is unknown: see `housekeeping.delete_bodies`. A stored body is copied into
    the answer unparsed: as Python objects it would take six times its size.
    """
    if event.body is not None:
        return orjson.Fragment(event.body)
    return {
        "id": str(event.pk),
        "type": event.type,
        "timestamp": event.created_at,
        "api_version": API_VERSION,
        "community_id": str(event.community_id),
        "data": None,
    }
