"""The API of deliveries: listing, reading and delivering again (interface 2.10, decisions 10)."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.actors import Role
from communities.http.idempotency import once
from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from webhooks.api import examples
from webhooks.events import EventType
from webhooks.models import Delivery
from webhooks.services import deliveries

TAG = "Webhook deliveries"


class DeliveriesIn(PageIn):
    """Filters and pagination of the list."""

    status = serializers.ChoiceField(choices=Delivery.Status.values, required=False)
    event_type = serializers.ChoiceField(choices=EventType.values, required=False)


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
        allow_null=True, help_text="A sentence that says why the last attempt got no response."
    )


class WholeDeliveryOut(DeliveryOut):
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

    @extend_schema(
        operation_id="deliveries_list",
        tags=[TAG],
        summary="List a webhook's deliveries",
        description=(
            "Newest first. A delivery is one event for one webhook, with the outcome of its last attempt. "
            "Deliveries about responses to anonymous projects have random ids and times rounded to the hour, "
            "or to the day if the project rounds to days, so their order reveals nothing."
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
        )
        return self.page(selection, query, as_json=deliveries.as_json)

    @extend_schema(
        operation_id="deliveries_get",
        tags=[TAG],
        summary="Read a delivery",
        description="Includes `payload`, the body that every attempt sends, which is kept for 30 days.",
        responses=WholeDeliveryOut,
        examples=[
            OpenApiExample("A ping", examples.DELIVERY | {"payload": examples.PAYLOAD}, response_only=True)
        ],
    )
    def retrieve(self, request: Request, delivery_id: uuid.UUID, **kwargs: Any) -> Response:
        delivery = deliveries.find(community_id=self.actor.community_id, delivery_id=delivery_id)
        return Response({**deliveries.as_json(delivery), "payload": deliveries.payload(delivery)})

    @extend_schema(
        operation_id="deliveries_redeliver",
        tags=[TAG],
        summary="Deliver again",
        description=(
            "Creates a new delivery of the same event to the same webhook, with the same body and "
            "`webhook-id` and a new series of attempts. Works for any status of the earlier delivery, and "
            "while the webhook is off. Answers `409 conflict` if the body has been deleted, 30 days after "
            "the event."
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
