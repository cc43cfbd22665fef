"""API keys (rule 1.20)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.authentication import caller_cache
from communities.gate.fields import StrictChoiceField, StrictTextField, UtcDateTimeField
from communities.gate.idempotency import once
from communities.gate.pagination import PageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.models import ApiKey, Member
from communities.services.api_keys import key_listing, keys
from communities.services.people import members

EXAMPLE = {
    "id": "7",
    "community_id": "710000000000000001",
    "user_id": "41",
    "name": "Website",
    "description": None,
    "key_prefix": "cq_live_k3Jq0b",
    "role": "admin",
    "scope": "all",
    "mode": "live",
    "is_active": True,
    "created_at": "2026-01-31T09:30:00Z",
    "last_used_at": None,
    "expires_at": None,
    "rotated_at": None,
    "rotated_by": None,
    "rotated_by_name": None,
}
ROTATED = {"rotated_at": "2026-02-14T18:00:00Z", "rotated_by": "58", "rotated_by_name": "Marit"}
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
        choices=["creator"],
        allow_null=True,
        required=False,
        help_text="`creator` restricts an admin's key. By default, a key has its user's role.",
    )

    scope = StrictChoiceField(
        choices=ApiKey.Scope.values,
        default=ApiKey.Scope.ALL,
        help_text=(
            "`read`: only GET requests. `conversations`: only leading conversations, and reading projects "
            "and scripts. Other requests get `403`."
        ),
    )
    mode = StrictChoiceField(
        choices=ApiKey.Mode.values,
        default=ApiKey.Mode.LIVE,
        help_text=(
            "`test` creates a key `cq_test_…`. Its projects, responses and webhooks are separate from live "
            "data, and are deleted after 30 days."
        ),
    )


class KeyOut(serializers.Serializer[ApiKey]):
    id = serializers.CharField()
    community_id = serializers.CharField()
    user_id = serializers.CharField(help_text="The user whose name and role the key has.")
    name = serializers.CharField()
    description = serializers.CharField(allow_null=True)
    key_prefix = serializers.CharField()
    role = StrictChoiceField(
        choices=Member.Access.values,
        allow_null=True,
        help_text=(
            "The role that the key has now: its user's access, or the lower role of the key. Null while "
            "its user is not a member; the key is then refused."
        ),
    )
    scope = StrictChoiceField(choices=ApiKey.Scope.values, help_text="The requests that the key may send.")
    mode = StrictChoiceField(choices=ApiKey.Mode.values, help_text="Whether the key sees live or test data.")
    is_active = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(
        allow_null=True, help_text="The time of the last request, to about a minute; null for an unused key."
    )
    expires_at = serializers.DateTimeField(allow_null=True)
    rotated_at = serializers.DateTimeField(
        allow_null=True, help_text="When the key got its present secret; null if the key was never rotated."
    )
    rotated_by = serializers.CharField(
        allow_null=True,
        help_text=(
            "The id of the user who last rotated the key and saw its present secret. Null if the key was "
            "never rotated, or if this user was erased."
        ),
    )
    rotated_by_name = serializers.CharField(
        allow_null=True, help_text="The name of the user in `rotated_by`, if known."
    )


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

    def _as_json(
        self, key: ApiKey, *, names: Mapping[int, str], access: Mapping[int, str]
    ) -> dict[str, object]:
        role = access.get(key.user_id)
        return {
            "id": str(key.pk),
            "community_id": str(key.community_id),
            "user_id": str(key.user_id),
            "name": key.name,
            "description": key.description,
            "key_prefix": key.key_prefix,
            "role": key.restricted_to if role == Member.Access.ADMIN and key.restricted_to else role,
            "scope": key.scope,
            "mode": key.mode,
            "is_active": key.is_active_at(self.at),
            "created_at": key.created_at,
            "last_used_at": key.last_used_at,
            "expires_at": key.expires_at,
            "rotated_at": key.rotated_at,
            "rotated_by": None if key.rotated_by_id is None else str(key.rotated_by_id),
            "rotated_by_name": names.get(key.rotated_by_id or 0),
        }

    def _names(self, user_ids: Iterable[int | None]) -> Mapping[int, str]:
        known = {user_id for user_id in user_ids if user_id is not None}
        return members.display_names(community_id=self.actor.community_id, user_ids=known)

    def _access(self, user_ids: Iterable[int]) -> Mapping[int, str]:
        return key_listing.present_access(community_id=self.actor.community_id, user_ids=set(user_ids))

    @extend_schema(
        operation_id="api_keys_list",
        tags=["API keys"],
        summary="List API keys",
        description=(
            "Returns the keys, newest first, including revoked ones, with the user who last rotated each key."
        ),
        parameters=[PageIn],
        responses=KeyOut(many=True),
        examples=[
            OpenApiExample("A key that somebody else has rotated", EXAMPLE | ROTATED, response_only=True)
        ],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        api_keys = ApiKey.objects.filter(community_id=self.actor.community_id).order_by("-pk")
        people = list(api_keys.order_by().values_list("user_id", "rotated_by").distinct())
        names = self._names(rotated_by for _, rotated_by in people)
        access = self._access(user_id for user_id, _ in people)
        as_json = partial(self._as_json, names=names, access=access)
        return self.page(api_keys, self.query(PageIn), as_json=as_json)

    @extend_schema(
        operation_id="api_keys_create",
        tags=["API keys"],
        summary="Create an API key",
        description=(
            "Creates a key. Only this response contains `key`. The new key belongs to the user of the key "
            "that sends the request, and its role is never higher. A community has at most 50 keys that "
            "are not revoked: one more is `409 conflict`. A test key cannot create keys (`403`)."
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
            actor=self.actor,
            community_id=self.actor.community_id,
            user_id=self.actor.user_id,
            name=body["name"],
            description=body.get("description"),
            restricted_to=body.get("role"),
            scope=body["scope"],
            mode=body["mode"],
            expires_at=body.get("expires_at"),
            at=self.at,
        )
        access = self._access([key.user_id])
        return Response({**self._as_json(key, names={}, access=access), "key": secret}, status=201)

    @extend_schema(
        operation_id="api_keys_rotate",
        tags=["API keys"],
        summary="Rotate an API key",
        description=(
            "Returns a new `key`. The old secret works for another 24 hours. A rotated key still acts in "
            "the name of its user; `rotated_by` and `rotated_at` record who rotated the key, and when."
        ),
        request=None,
        responses=NewKeyOut,
        examples=[OpenApiExample("Rotated", NEW_EXAMPLE | ROTATED, response_only=True)],
    )
    @once
    def rotate(self, request: Request, key_id: int, **kwargs: Any) -> Response:
        key, secret = keys.rotate_key(actor=self.actor, key_id=key_id, at=self.at)
        names = self._names([key.rotated_by_id])
        access = self._access([key.user_id])
        return Response({**self._as_json(key, names=names, access=access), "key": secret})

    @extend_schema(
        operation_id="api_keys_revoke",
        tags=["API keys"],
        summary="Revoke an API key",
        description="Revokes the key. Its next request is refused.",
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, key_id: int, **kwargs: Any) -> Response:
        keys.revoke_key(actor=self.actor, community_id=self.actor.community_id, key_id=key_id, at=self.at)
        # The cache is emptied, so that the change is effective in this process at once even while Redis is
        # down.
        transaction.on_commit(caller_cache.clear)
        return Response(status=204)
