"""Webhooks: who wants to hear (interface 2.10, decisions 10)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.http.fields import Choice, Text, Truth
from communities.http.idempotency import once
from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from webhooks import addresses
from webhooks.api import examples
from webhooks.api.deliveries import DeliveryOut
from webhooks.events import ALL, EventType
from webhooks.models import Webhook
from webhooks.services import deliveries, webhooks

TAG = "Webhooks"


class ChangedWebhookIn(serializers.Serializer[Any]):
    accepted_and_ignored = frozenset(examples.NEW_WEBHOOK)

    url = Text(
        max_length=addresses.MOST_CHARACTERS,
        help_text="https, on port 443, 80 or one above 1023, without a password or a fragment in it.",
    )
    events = serializers.ListField(
        child=Choice(choices=[*EventType.values, ALL]),
        allow_empty=False,
        min_length=1,  # for the description alone, which does not see the line above
        help_text="What it wants to hear of; `*` is all, also what is yet to be invented.",
    )
    name = Text(max_length=200, allow_null=True, required=False)
    is_active = Truth(required=False, help_text="Only a ping and a redelivery reach one that is not.")

    def validate_url(self, url: str) -> str:
        try:
            addresses.check(
                url,
                allow_http=settings.WEBHOOKS_ALLOW_HTTP,
                allow_private=settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS,
            )
        except addresses.BadAddress as refused:
            raise serializers.ValidationError(str(refused), code=refused.code) from None
        return url


class NewWebhookIn(ChangedWebhookIn):
    name = Text(max_length=200, allow_null=True, default=None)
    is_active = Truth(default=True, help_text="Only a ping and a redelivery reach one that is not.")


class WebhookOut(serializers.Serializer[Webhook]):
    id = serializers.CharField()
    community_id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    secret_prefix = serializers.CharField(help_text="The first 10 characters of the secret.")
    is_active = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    disabled_reason = serializers.ChoiceField(
        choices=Webhook.DisabledReason.choices,
        allow_null=True,
        help_text="Why the service itself switched it off.",
    )


class NewWebhookOut(WebhookOut):
    secret = serializers.CharField(help_text="The signing secret, shown this once.")


class WebhookViewSet(CommunityViewSet):
    noun = "webhook"

    @extend_schema(
        operation_id="webhooks_list",
        tags=[TAG],
        summary="List webhooks",
        description="Newest first. Needs the role admin, as all about webhooks does.",
        parameters=[PageIn],
        responses=WebhookOut(many=True),
        examples=[OpenApiExample("One webhook", examples.WEBHOOK, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        own = Webhook.objects.in_community(self.key.community_id).order_by("-created_at", "-pk")
        return self.page(own, self.query(PageIn), draw=webhooks.as_json)

    @extend_schema(
        operation_id="webhooks_create",
        tags=[TAG],
        summary="Register a webhook",
        description=(
            "From now on the `events` of the community are sent to `url`, as the section Webhooks of the "
            "introduction says. The answer alone carries `secret`, with which signatures are verified. An "
            "address that is private by its text, in any spelling, is refused here; what a name resolves to "
            "is checked at each attempt. A community has at most 20 webhooks: one more is `409 conflict`."
        ),
        request=NewWebhookIn,
        responses={201: NewWebhookOut},
        examples=[
            OpenApiExample("For two types of events", examples.NEW_WEBHOOK_SENT, request_only=True),
            OpenApiExample("Registered", examples.NEW_WEBHOOK, response_only=True, status_codes=["201"]),
        ],
    )
    @once
    def create(self, request: Request, **kwargs: Any) -> Response:
        webhook, secret = webhooks.register(
            community_id=self.key.community_id, at=self.at, **self.read(NewWebhookIn)
        )
        return Response({**webhooks.as_json(webhook), "secret": secret}, status=201)

    @extend_schema(
        operation_id="webhooks_get",
        tags=[TAG],
        summary="Read a webhook",
        description="`disabled_reason` says why the service itself switched it off, and is null elsewhere.",
        responses=WebhookOut,
        examples=[OpenApiExample("A webhook", examples.WEBHOOK, response_only=True)],
    )
    def retrieve(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        webhook = webhooks.find(community_id=self.key.community_id, webhook_id=webhook_id)
        return Response(webhooks.as_json(webhook))

    @extend_schema(
        operation_id="webhooks_patch",
        tags=[TAG],
        summary="Change a webhook",
        description=(
            "The fields that are sent change. Another `url`, or `is_active` true, begins anew: the 5 days of "
            "failures are counted from the start, and `disabled_reason` is null again. What became due while "
            "it was off is sent once it is on, as long as its body is kept. What happened while it was off "
            "is not told later."
        ),
        request=ChangedWebhookIn,
        responses=WebhookOut,
        examples=[
            OpenApiExample("Another name", {"name": "The board"}, request_only=True),
            OpenApiExample("Changed", examples.RENAMED, response_only=True),
        ],
    )
    @once
    def partial_update(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        webhook = webhooks.change(
            community_id=self.key.community_id,
            webhook_id=webhook_id,
            fields=self.read(ChangedWebhookIn, partial=True),
            at=self.at,
        )
        return Response(webhooks.as_json(webhook))

    @extend_schema(
        operation_id="webhooks_delete",
        tags=[TAG],
        summary="Delete a webhook",
        description="With its deliveries: nothing more is sent, not even what is due.",
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        webhooks.remove(community_id=self.key.community_id, webhook_id=webhook_id, at=self.at)
        return Response(status=204)

    @extend_schema(
        operation_id="webhooks_rotate_secret",
        tags=[TAG],
        summary="Rotate a webhook's secret",
        description=(
            "A new `secret`. For another 24 hours, or until the next rotation, the old one signs too: "
            "`webhook-signature` carries a signature by each, with a space between, so nothing is lost while "
            "the receiver changes over."
        ),
        request=None,
        responses=NewWebhookOut,
        examples=[OpenApiExample("Rotated", examples.NEW_WEBHOOK, response_only=True)],
    )
    @once
    def rotate_secret(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        webhook, secret = webhooks.rotate_secret(
            community_id=self.key.community_id, webhook_id=webhook_id, at=self.at
        )
        return Response({**webhooks.as_json(webhook), "secret": secret})

    @extend_schema(
        operation_id="webhooks_ping",
        tags=[TAG],
        summary="Ping a webhook",
        description=(
            'Sends it the event `webhook.ping`, whose `data` is `{"webhook": Webhook}`, whatever its '
            "`events` are and even while it is off. Answers the delivery; read it again to see what became "
            "of it."
        ),
        request=None,
        responses={201: DeliveryOut},
        examples=[
            OpenApiExample("On its way", examples.UNTRIED_DELIVERY, response_only=True, status_codes=["201"])
        ],
    )
    @once
    def ping(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        delivery = webhooks.ping(community_id=self.key.community_id, webhook_id=webhook_id, at=self.at)
        return Response(deliveries.as_json(delivery), status=201)
