"""The API of events: all emitted events, whether a webhook listened or not (rule 9.11)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import StrictChoiceField, UtcDateTimeField
from communities.gate.pagination import PerPageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.ground.errors import NotFound, refuse
from webhooks.api import examples
from webhooks.events import API_VERSION, EventType
from webhooks.services import event_listing


class EventsIn(PerPageIn):
    """Filters and paging of the list."""

    after = serializers.UUIDField(
        required=False,
        help_text=(
            "An event's id: the page starts after it in the order of this list, equally fast at any depth."
        ),
    )
    order = StrictChoiceField(
        choices=["asc", "desc"], default="desc", help_text="Oldest first, or newest first."
    )
    type = serializers.ChoiceField(choices=EventType.values, required=False)
    since = UtcDateTimeField(required=False, help_text="Of this time or later.")
    until = UtcDateTimeField(required=False, help_text="Of an earlier time.")


class EventOut(serializers.Serializer[Any]):
    """An event in the form of a delivery."""

    id = serializers.UUIDField(help_text="Also the header `webhook-id` of its deliveries.")
    type = serializers.ChoiceField(choices=EventType.values)
    timestamp = serializers.DateTimeField(help_text="When the event happened.")
    api_version = serializers.ChoiceField(choices=[API_VERSION])
    community_id = serializers.CharField()
    data = serializers.DictField(  # type: ignore[assignment]  # the name is public, and hides DRF's
        allow_null=True, help_text="As described for each type under Events."
    )


class EventViewSet(CommunityViewSet):
    noun = "event"
    least_role = {
        "list": Role.ADMIN,
    }

    @extend_schema(
        operation_id="events_list",
        tags=["Events"],
        summary="List events",
        description=(
            "Returns the events of the last 30 days, as webhooks receive them. To poll, send `order=asc` "
            "and `since`; then send the id of the last event as `after`, without a pause while `has_more` "
            "is true. An event may appear late, before events that you have read: read the last minutes "
            "again by `since` from time to time, and skip the ids that you know. If the event `after` has "
            "been deleted, the response is `400`: begin again with `since`. [The order, and anonymous "
            "projects](/docs/details#list-events)."
        ),
        parameters=[EventsIn],
        responses=EventOut(many=True),
        examples=[OpenApiExample("A ping", examples.PAYLOAD, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        query = self.query(EventsIn)
        try:
            page = event_listing.page(
                community_id=self.actor.community_id,
                type=query.get("type"),
                since=query.get("since"),
                until=query.get("until"),
                after=query.get("after"),
                oldest_first=query["order"] == "asc",
                per_page=query["per_page"],
                at=self.at,
            )
        except NotFound:
            refuse("after", "not_found", "`after` must be the id of an event that is still kept.")
        pagination = {"per_page": query["per_page"], "has_more": page.has_more}
        return Response({"data": page.events, "pagination": pagination})
