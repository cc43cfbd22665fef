"""Deliveries: what became of telling a webhook, and telling it again (interface 2.10, decisions 10)."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.http.idempotency import once
from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from webhooks.api import examples
from webhooks.events import EventType
from webhooks.models import Delivery
from webhooks.services import deliveries

TAG = "Webhook deliveries"


class DeliveriesIn(PageIn):
    """Filters and paging of the listing."""

    status = serializers.ChoiceField(choices=Delivery.Status.values, required=False)
    event_type = serializers.ChoiceField(choices=EventType.values, required=False)


class DeliveryOut(serializers.Serializer[Delivery]):
    id = serializers.UUIDField()
    webhook_id = serializers.CharField()
    event_type = serializers.CharField()
    event_id = serializers.UUIDField(help_text="The header `webhook-id` of each attempt.")
    status = serializers.ChoiceField(
        choices=Delivery.Status.values,
        help_text=(
            "`pending` until the first attempt; `failed` while another is due; `abandoned` where none is "
            "any more."
        ),
    )
    attempt_count = serializers.IntegerField(min_value=0)
    response_status = serializers.IntegerField(
        allow_null=True, help_text="What the endpoint answered to the last attempt; null without an answer."
    )
    response_body = serializers.CharField(
        allow_null=True,
        help_text=(
            "The answer's first 1000 characters; forgotten after 30 days, and never kept of what tells of "
            "anonymous responses."
        ),
    )
    last_attempt_at = serializers.DateTimeField(allow_null=True)
    next_retry_at = serializers.DateTimeField(allow_null=True, help_text="Told for `failed` alone.")
    created_at = serializers.DateTimeField()
    error = serializers.CharField(
        allow_null=True, help_text="A sentence that says why the last attempt brought no answer."
    )


class WholeDeliveryOut(DeliveryOut):
    payload = serializers.DictField(
        allow_null=True, help_text="What each attempt sends; null once it is forgotten, after 30 days."
    )


class DeliveryViewSet(CommunityViewSet):
    noun = "delivery"

    @extend_schema(
        operation_id="deliveries_list",
        tags=[TAG],
        summary="List a webhook's deliveries",
        description=(
            "Newest first. A delivery is one event for one webhook, with what became of its last attempt. "
            "Those that tell of responses to anonymous projects have times rounded to the hour, or to the "
            "day where the project rounds so, and random ids, so their order says nothing."
        ),
        parameters=[DeliveriesIn],
        responses=DeliveryOut(many=True),
        examples=[OpenApiExample("One that failed twice", examples.DELIVERY, response_only=True)],
    )
    def list(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        query = self.query(DeliveriesIn)
        found = deliveries.listing(
            community_id=self.key.community_id,
            webhook_id=webhook_id,
            status=query.get("status"),
            event_type=query.get("event_type"),
        )
        return self.page(found, query, draw=deliveries.as_json)

    @extend_schema(
        operation_id="deliveries_get",
        tags=[TAG],
        summary="Read a delivery",
        description="With `payload`, the body that each attempt sends, as long as it is kept: 30 days.",
        responses=WholeDeliveryOut,
        examples=[
            OpenApiExample("A ping", examples.DELIVERY | {"payload": examples.PAYLOAD}, response_only=True)
        ],
    )
    def retrieve(self, request: Request, delivery_id: uuid.UUID, **kwargs: Any) -> Response:
        delivery = deliveries.find(community_id=self.key.community_id, delivery_id=delivery_id)
        return Response({**deliveries.as_json(delivery), "payload": deliveries.payload(delivery)})

    @extend_schema(
        operation_id="deliveries_redeliver",
        tags=[TAG],
        summary="Deliver again",
        description=(
            "A new delivery of the same event to the same webhook, whatever became of the earlier one and "
            "even while the webhook is off: the same body and `webhook-id`, all attempts anew. Without a "
            "body, 30 days after the event, it is `409 conflict`."
        ),
        request=None,
        responses={201: DeliveryOut},
        examples=[
            OpenApiExample("On its way", examples.UNTRIED_DELIVERY, response_only=True, status_codes=["201"])
        ],
    )
    @once
    def redeliver(self, request: Request, delivery_id: uuid.UUID, **kwargs: Any) -> Response:
        again = deliveries.redeliver(community_id=self.key.community_id, delivery_id=delivery_id, at=self.at)
        return Response(deliveries.as_json(again), status=201)
