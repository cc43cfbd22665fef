"""The API of deliveries: listing, reading and delivering again (chapter 9)."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import UtcDateTimeField
from communities.gate.idempotency import once
from communities.gate.pagination import MAX_PAGE, PageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.ground.errors import NotFound, refuse
from webhooks.api import examples
from webhooks.events import EventType
from webhooks.models import Delivery
from webhooks.services import deliveries, webhooks

TAG = "Webhook deliveries"


class DeliveriesIn(PageIn):
    """Filters and pagination of the list."""

    page = serializers.IntegerField(
        min_value=1,
        max_value=MAX_PAGE,
        # There is no default, because generated clients would send the default beside `after`.
        required=False,
        help_text="From 1, the default.",
    )
    after = serializers.UUIDField(
        required=False,
        help_text="A delivery's id: the page starts after it, equally fast at any depth. Without `page`.",
    )
    since = UtcDateTimeField(required=False, help_text="Created at this time or later.")
    until = UtcDateTimeField(required=False, help_text="Created before this time.")
    status = serializers.ChoiceField(choices=Delivery.Status.values, required=False)
    event_type = serializers.ChoiceField(choices=EventType.values, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "after" in attrs and "page" in self.initial_data:
            message = "`after` cannot be sent with `page`: it already says where the page starts."
            raise serializers.ValidationError({"after": message}, code="conflicting")
        return {"page": 1, **attrs}


class DeliveryOut(serializers.Serializer[Delivery]):
    id = serializers.UUIDField()
    webhook_id = serializers.CharField()
    event_type = serializers.CharField()
    event_id = serializers.UUIDField(help_text="Sent as the header `webhook-id` with every attempt.")
    status = serializers.ChoiceField(
        choices=Delivery.Status.values,
        help_text=(
            "`pending` until the first attempt, `failed` while another attempt is scheduled, `abandoned` "
            "when there are no further attempts."
        ),
    )
    attempt_count = serializers.IntegerField(min_value=0)
    response_status = serializers.IntegerField(
        allow_null=True, help_text="The HTTP status of the last attempt; null if there was no response."
    )
    response_body = serializers.CharField(
        allow_null=True,
        help_text=(
            "The first 1000 characters of the endpoint's response body. Deleted after 30 days; never stored "
            "for events about responses to anonymous projects."
        ),
    )
    last_attempt_at = serializers.DateTimeField(allow_null=True)
    next_retry_at = serializers.DateTimeField(
        allow_null=True, help_text="Set only if the status is `failed`."
    )
    created_at = serializers.DateTimeField()
    error = serializers.CharField(
        allow_null=True, help_text="Why the last attempt got no response, in a sentence."
    )


class AttemptOut(serializers.Serializer[Any]):
    """One attempt to send a delivery."""

    attempted_at = serializers.DateTimeField()
    response_status = serializers.IntegerField(
        allow_null=True, help_text="The HTTP status of the response; null if there was none."
    )
    error = serializers.CharField(allow_null=True, help_text="Why there was no response.")
    milliseconds = serializers.IntegerField(help_text="From looking up the host to the end of the response.")


class WholeDeliveryOut(DeliveryOut):
    attempts = AttemptOut(many=True, help_text="Every attempt, oldest first; the text only of the last.")
    payload = serializers.DictField(
        allow_null=True,
        help_text="The body that every attempt sends; null once it is deleted, after 30 days.",
    )


class DeliveryViewSet(CommunityViewSet):
    noun = "delivery"
    least_role = {
        "list": Role.ADMIN,
        "retrieve": Role.ADMIN,
        "redeliver": Role.ADMIN,
    }

    def find(self, *, webhook_id: int | None = None, **kwargs: Any) -> None:
        if webhook_id is not None:
            webhooks.find(community_id=self.actor.community_id, webhook_id=webhook_id)

    @extend_schema(
        operation_id="deliveries_list",
        tags=[TAG],
        summary="List a webhook's deliveries",
        description=(
            "Returns the deliveries, newest first. Each delivery is one event for one webhook, with the "
            "outcome of its last attempt. Deliveries about responses to anonymous projects have random ids "
            "and rounded times."
        ),
        parameters=[DeliveriesIn],
        responses=DeliveryOut(many=True),
        examples=[OpenApiExample("A delivery that failed twice", examples.DELIVERY, response_only=True)],
    )
    def list(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        query = self.query(DeliveriesIn)
        selection = deliveries.deliveries_of(
            community_id=self.actor.community_id,
            webhook_id=webhook_id,
            status=query.get("status"),
            event_type=query.get("event_type"),
            since=query.get("since"),
            until=query.get("until"),
        )
        if "after" in query:
            return self._page_after(selection, webhook_id, query["after"], query["per_page"])
        return self.page(selection, query, as_json=deliveries.as_json)

    def _page_after(
        self, selection: QuerySet[Delivery], webhook_id: int, after: uuid.UUID, per_page: int
    ) -> Response:
        try:
            older = deliveries.older_than(selection, webhook_id=webhook_id, delivery_id=after)
        except NotFound:
            refuse("after", "not_found", "`after` must be the id of a delivery of this webhook.")
        rows = list(older[: per_page + 1])
        pagination = {"per_page": per_page, "has_more": len(rows) > per_page}
        return Response(
            {"data": [deliveries.as_json(row) for row in rows[:per_page]], "pagination": pagination}
        )

    @extend_schema(
        operation_id="deliveries_get",
        tags=[TAG],
        summary="Read a delivery",
        description=(
            "Returns a delivery with its attempts and its `payload`, the body that every attempt sends. "
            "The payload is deleted after 30 days."
        ),
        responses=WholeDeliveryOut,
        examples=[
            OpenApiExample(
                "A ping",
                examples.DELIVERY | {"attempts": examples.ATTEMPTS, "payload": examples.PAYLOAD},
                response_only=True,
            )
        ],
    )
    def retrieve(self, request: Request, delivery_id: uuid.UUID, **kwargs: Any) -> Response:
        delivery = deliveries.find(community_id=self.actor.community_id, delivery_id=delivery_id)
        more = {"attempts": deliveries.attempts_as_json(delivery), "payload": deliveries.payload(delivery)}
        return Response({**deliveries.as_json(delivery), **more})

    @extend_schema(
        operation_id="deliveries_redeliver",
        tags=[TAG],
        summary="Deliver again",
        description=(
            "Creates a new delivery of the same event to the same webhook, with the same `webhook-id` and "
            "a new series of attempts. The status of the earlier delivery does not matter, and the webhook "
            "may be off. Once the new delivery arrives, earlier deliveries of the event are `delivered` "
            "too. If the body has been deleted (after 30 days), the response is `409 conflict`."
        ),
        request=None,
        responses={201: DeliveryOut},
        examples=[
            OpenApiExample("Created", examples.PENDING_DELIVERY, response_only=True, status_codes=["201"])
        ],
    )
    @once
    def redeliver(self, request: Request, delivery_id: uuid.UUID, **kwargs: Any) -> Response:
        delivery = deliveries.redeliver(
            actor=self.actor, community_id=self.actor.community_id, delivery_id=delivery_id, at=self.at
        )
        return Response(deliveries.as_json(delivery), status=201)
