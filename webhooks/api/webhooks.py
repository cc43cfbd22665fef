"""The API of webhooks (chapter 9)."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictListField,
    StrictStringField,
    StrictTextField,
    UtcDateTimeField,
)
from communities.gate.idempotency import once
from communities.gate.pagination import PageIn
from communities.gate.views import CommunityViewSet
from communities.ground import web_addresses
from communities.ground.actors import Role
from communities.ground.ids import id_of
from webhooks.api import examples
from webhooks.api.deliveries import DeliveryOut
from webhooks.events import ALL, EventType
from webhooks.models import Delivery, Webhook
from webhooks.services import deliveries, webhooks

TAG = "Webhooks"


class ChangedWebhookIn(serializers.Serializer[Any]):
    accepted_and_ignored = frozenset(examples.NEW_WEBHOOK)

    url = StrictStringField(
        max_length=web_addresses.MAX_LENGTH,
        help_text="An https URL on port 443, 80 or one above 1023, without a password or a fragment.",
    )
    events = StrictListField(
        child=StrictChoiceField(choices=[*EventType.values, ALL]),
        allow_empty=False,
        min_length=1,  # The value is for the OpenAPI description, which ignores `allow_empty`.
        max_length=len(EventType) + 1,
        help_text="The types of events to send; `*` means all, including types added later.",
    )
    project_ids = StrictListField(
        child=StrictTextField(max_length=20),
        allow_null=True,
        allow_empty=False,
        min_length=1,
        max_length=1000,
        required=False,
        help_text=(
            "Events about projects, responses and analyses are sent only for these projects; other events "
            "are always sent. Null means all projects."
        ),
    )
    name = StrictTextField(max_length=200, allow_null=True, required=False)
    is_active = StrictBooleanField(
        required=False, help_text="A webhook that is off receives only pings and redeliveries."
    )

    def validate_project_ids(self, ids: list[str] | None) -> list[int] | None:
        return None if ids is None else [id_of(each) or 0 for each in ids]

    def validate_url(self, url: str) -> str:
        try:
            web_addresses.check_url(
                url,
                allow_http=settings.WEBHOOKS_ALLOW_HTTP,
                allow_private=settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS,
            )
        except web_addresses.BadAddress as error:
            raise serializers.ValidationError(str(error), code=error.code) from None
        return url


class NewWebhookIn(ChangedWebhookIn):
    name = StrictTextField(max_length=200, allow_null=True, default=None)
    is_active = StrictBooleanField(
        default=True, help_text="A webhook that is off receives only pings and redeliveries."
    )


class WebhookOut(serializers.Serializer[Webhook]):
    id = serializers.CharField()
    community_id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    project_ids = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="The only projects whose events are sent; null means all.",
    )
    secret_prefix = serializers.CharField(help_text="The first 10 characters of the secret.")
    is_active = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    disabled_reason = serializers.ChoiceField(
        choices=Webhook.DisabledReason.choices,
        allow_null=True,
        help_text="Why the service switched the webhook off; otherwise null.",
    )


class RedeliverIn(serializers.Serializer[Any]):
    """The deliveries to send again, by the time when they were made."""

    since = UtcDateTimeField(
        help_text=(
            "Created at this time or later. For responses to anonymous projects, whose times are rounded, "
            "includes the whole hour (or day)."
        )
    )
    until = UtcDateTimeField(
        required=False,
        allow_null=True,
        help_text="Created before this time; null means now.",
    )
    status = StrictChoiceField(
        choices=[Delivery.Status.FAILED, Delivery.Status.ABANDONED, Delivery.Status.DELIVERED],
        required=False,
        allow_null=True,
        help_text="Null means those that did not arrive: `failed` and `abandoned`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        since, until = attrs["since"], attrs.get("until")
        if until is not None and until <= since:
            raise serializers.ValidationError(
                {"until": "`until` must be later than `since`."}, code="invalid"
            )
        return attrs


class RedeliveredOut(serializers.Serializer[Any]):
    count = serializers.IntegerField(
        min_value=0, help_text="How many events wait to be sent again, including those of earlier requests."
    )


class NewWebhookOut(WebhookOut):
    secret = serializers.CharField(help_text="The signing secret. It is shown only in this response.")


class WebhookViewSet(CommunityViewSet):
    noun = "webhook"
    least_role = {
        "list": Role.ADMIN,
        "create": Role.ADMIN,
        "retrieve": Role.ADMIN,
        "partial_update": Role.ADMIN,
        "destroy": Role.ADMIN,
        "rotate_secret": Role.ADMIN,
        "ping": Role.ADMIN,
        "redeliver": Role.ADMIN,
    }

    def find(self, *, webhook_id: int | None = None, **kwargs: Any) -> None:
        if webhook_id is not None:
            webhooks.find(community_id=self.actor.community_id, webhook_id=webhook_id)

    def lock(self, **kwargs: Any) -> None:
        webhooks.lock(community_id=self.actor.community_id, webhook_id=kwargs["webhook_id"])

    @extend_schema(
        operation_id="webhooks_list",
        tags=[TAG],
        summary="List webhooks",
        description="Returns the webhooks, newest first.",
        parameters=[PageIn],
        responses=WebhookOut(many=True),
        examples=[OpenApiExample("One webhook", examples.WEBHOOK, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        selection = Webhook.objects.in_community(self.actor.community_id).order_by("-created_at", "-pk")
        return self.page(selection, self.query(PageIn), as_json=webhooks.as_json)

    @extend_schema(
        operation_id="webhooks_create",
        tags=[TAG],
        summary="Register a webhook",
        description=(
            "Registers a webhook: from now on, the community's `events` are sent to `url`. Only this "
            "response contains `secret`, which verifies signatures. A URL with a private address is "
            "refused. A community can have 20 webhooks; one more is `409 conflict`. "
            "[Webhooks](/docs/receive-webhooks)."
        ),
        request=NewWebhookIn,
        responses={201: NewWebhookOut},
        examples=[
            OpenApiExample("Two types of events", examples.WEBHOOK_REQUEST, request_only=True),
            OpenApiExample("Registered", examples.NEW_WEBHOOK, response_only=True, status_codes=["201"]),
        ],
    )
    @once
    def create(self, request: Request, **kwargs: Any) -> Response:
        webhook, secret = webhooks.register(
            actor=self.actor, community_id=self.actor.community_id, at=self.at, **self.read(NewWebhookIn)
        )
        return Response({**webhooks.as_json(webhook), "secret": secret}, status=201)

    @extend_schema(
        operation_id="webhooks_get",
        tags=[TAG],
        summary="Read a webhook",
        description="Returns one webhook.",
        responses=WebhookOut,
        examples=[OpenApiExample("A webhook", examples.WEBHOOK, response_only=True)],
    )
    def retrieve(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        webhook = webhooks.find(community_id=self.actor.community_id, webhook_id=webhook_id)
        return Response(webhooks.as_json(webhook))

    @extend_schema(
        operation_id="webhooks_patch",
        tags=[TAG],
        summary="Change a webhook",
        description=(
            "Changes the fields in the request. A new `url`, or `is_active` true, resets the count of "
            "failures and `disabled_reason`. A webhook that is switched on again gets its pending "
            "deliveries whose bodies still exist, but no events from the time when it was off."
        ),
        request=ChangedWebhookIn,
        responses=WebhookOut,
        examples=[
            OpenApiExample("A new name", {"name": "The board"}, request_only=True),
            OpenApiExample("Changed", examples.RENAMED_WEBHOOK, response_only=True),
        ],
    )
    @once
    def partial_update(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        webhook = webhooks.change(
            actor=self.actor,
            community_id=self.actor.community_id,
            webhook_id=webhook_id,
            fields=self.read(ChangedWebhookIn, partial=True),
            at=self.at,
        )
        return Response(webhooks.as_json(webhook))

    @extend_schema(
        operation_id="webhooks_delete",
        tags=[TAG],
        summary="Delete a webhook",
        description="Deletes the webhook and its deliveries. Pending deliveries are not sent any more.",
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        webhooks.remove(
            actor=self.actor, community_id=self.actor.community_id, webhook_id=webhook_id, at=self.at
        )
        return Response(status=204)

    @extend_schema(
        operation_id="webhooks_rotate_secret",
        tags=[TAG],
        summary="Rotate a webhook's secret",
        description=(
            "Returns a new `secret`. The old secret also signs for 24 hours, or until the next rotation. "
            "`webhook-signature` then contains two signatures, separated by a space: the receiver can "
            "change its secret without losing events."
        ),
        request=None,
        responses=NewWebhookOut,
        examples=[OpenApiExample("Rotated", examples.NEW_WEBHOOK, response_only=True)],
    )
    @once
    def rotate_secret(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        webhook, secret = webhooks.rotate_secret(
            actor=self.actor, community_id=self.actor.community_id, webhook_id=webhook_id, at=self.at
        )
        return Response({**webhooks.as_json(webhook), "secret": secret})

    @extend_schema(
        operation_id="webhooks_ping",
        tags=[TAG],
        summary="Ping a webhook",
        description=(
            "Sends the event `webhook.ping` to this webhook, even if it is off or its `events` do not "
            'include it. Its `data` is `{"webhook": Webhook}`. Returns the delivery; read it again to see '
            "its outcome."
        ),
        request=None,
        responses={201: DeliveryOut},
        examples=[
            OpenApiExample("Created", examples.PENDING_DELIVERY, response_only=True, status_codes=["201"])
        ],
    )
    @once
    def ping(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        delivery = webhooks.ping(
            actor=self.actor, community_id=self.actor.community_id, webhook_id=webhook_id, at=self.at
        )
        return Response(deliveries.as_json(delivery), status=201)

    @extend_schema(
        operation_id="webhooks_redeliver",
        tags=[TAG],
        summary="Deliver many again",
        description=(
            "Sends the events of a range of time again, oldest first, at most 20 a second, each event "
            "once. Without `status`, sends the events that did not arrive; `delivered` sends events that "
            "arrived but that your endpoint lost. The `webhook-id` stays the same. Events that are being "
            "delivered are left out. The webhook may be off. Bodies exist for 30 days. More than 1,000 "
            "events are `409 conflict`: choose a shorter range."
        ),
        request=RedeliverIn,
        responses={202: RedeliveredOut},
        examples=[
            OpenApiExample("Since a fault", {"since": "2026-01-31T10:00:00Z"}, request_only=True),
            OpenApiExample("Accepted", {"count": 12}, response_only=True, status_codes=["202"]),
        ],
    )
    @once
    def redeliver(self, request: Request, webhook_id: int, **kwargs: Any) -> Response:
        body = self.read(RedeliverIn)
        status = body.get("status")
        count = deliveries.redeliver_range(
            actor=self.actor,
            community_id=self.actor.community_id,
            webhook_id=webhook_id,
            since=body["since"],
            until=body.get("until"),
            statuses=deliveries.NOT_ARRIVED if status is None else (status,),
            at=self.at,
        )
        return Response({"count": count}, status=202)
