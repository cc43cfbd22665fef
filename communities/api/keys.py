"""API keys (decisions 14.2)."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.actors import Role
from communities.http.authentication import caller_cache
from communities.http.fields import StrictChoiceField, StrictTextField, UtcDateTimeField
from communities.http.idempotency import once
from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from communities.models import ApiKey
from communities.services import keys

EXAMPLE = {
    "id": "7",
    "community_id": "710000000000000001",
    "name": "Website",
    "description": None,
    "key_prefix": "cq_live_k3Jq0b",
    "is_active": True,
    "created_at": "2026-01-31T09:30:00Z",
    "last_used_at": None,
    "expires_at": None,
}
NEW_EXAMPLE = EXAMPLE | {"key": "cq_live_k3Jq0bXv9TzL5dYw2RnE8uPcA1sF6hGmK4oQ7iJxB0"}


class NewKeyIn(serializers.Serializer[Any]):
    accepted_and_ignored = frozenset(NEW_EXAMPLE)

    name = StrictTextField(max_length=200)
    description = StrictTextField(max_length=1000, allow_null=True, required=False)
    expires_at = UtcDateTimeField(
        allow_null=True,
        required=False,
        help_text="A future time with its offset; null for a key that never expires.",
    )
    role = StrictChoiceField(
        choices=["creator"], allow_null=True, required=False, help_text="Restricts an admin's key to creator."
    )


class KeyOut(serializers.Serializer[ApiKey]):
    id = serializers.CharField()
    community_id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    key_prefix = serializers.CharField()
    is_active = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class NewKeyOut(KeyOut):
    key = serializers.CharField(help_text="The secret, which is shown only once.")


class KeyViewSet(CommunityViewSet):
    noun = "api_key"
    least_role = {
        "list": Role.ADMIN,
        "create": Role.ADMIN,
        "rotate": Role.ADMIN,
        "destroy": Role.ADMIN,
    }

    def _as_json(self, key: ApiKey) -> dict[str, object]:
        return {
            "id": str(key.pk),
            "community_id": str(key.community_id),
            "name": key.name,
            "description": key.description,
            "key_prefix": key.key_prefix,
            "is_active": key.is_active_at(self.at),
            "created_at": key.created_at,
            "last_used_at": key.last_used_at,
            "expires_at": key.expires_at,
        }

    @extend_schema(
        operation_id="api_keys_list",
        tags=["API keys"],
        summary="List API keys",
        description="Newest first, including revoked ones. Needs the role admin.",
        parameters=[PageIn],
        responses=KeyOut(many=True),
        examples=[OpenApiExample("One key", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        api_keys = ApiKey.objects.filter(community_id=self.actor.community_id).order_by("-pk")
        return self.page(api_keys, self.query(PageIn), as_json=self._as_json)

    @extend_schema(
        operation_id="api_keys_create",
        tags=["API keys"],
        summary="Create an API key",
        description=(
            "Only this response contains `key`. The new key belongs to the same user as the key of the "
            "request, and never has a role above its own. A community has at most 50 keys that are not "
            "revoked: another one is `409 conflict`. Needs the role admin, like everything about keys."
        ),
        request=NewKeyIn,
        responses={201: NewKeyOut},
        examples=[
            OpenApiExample("For a website", {"name": "Website"}, request_only=True),
            OpenApiExample("Created", NEW_EXAMPLE, response_only=True, status_codes=["201"]),
        ],
    )
    @once
    def create(self, request: Request, **kwargs: Any) -> Response:
        body = self.read(NewKeyIn)
        key, secret = keys.create_key(
            community_id=self.actor.community_id,
            user_id=self.actor.user_id,
            name=body["name"],
            description=body.get("description"),
            restricted_to=body.get("role"),
            expires_at=body.get("expires_at"),
            at=self.at,
        )
        return Response({**self._as_json(key), "key": secret}, status=201)

    @extend_schema(
        operation_id="api_keys_rotate",
        tags=["API keys"],
        summary="Rotate an API key",
        description="Returns a new `key`. The old one works for another 24 hours.",
        request=None,
        responses=NewKeyOut,
        examples=[OpenApiExample("Rotated", NEW_EXAMPLE, response_only=True)],
    )
    @once
    def rotate(self, request: Request, key_id: int, **kwargs: Any) -> Response:
        key, secret = keys.rotate_key(community_id=self.actor.community_id, key_id=key_id, at=self.at)
        return Response({**self._as_json(key), "key": secret})

    @extend_schema(
        operation_id="api_keys_revoke",
        tags=["API keys"],
        summary="Revoke an API key",
        description="The key stops working within 5 seconds.",
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, key_id: int, **kwargs: Any) -> Response:
        keys.revoke_key(community_id=self.actor.community_id, key_id=key_id, at=self.at)
        transaction.on_commit(caller_cache.clear)  # at once in this process; in others within 5 seconds
        return Response(status=204)
