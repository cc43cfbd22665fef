"""The audit trail of the key's community."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import StrictTextField, UtcDateTimeField
from communities.gate.pagination import PerPageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound, refuse
from communities.ground.ids import MAX_ID
from communities.models import AuditEntry
from communities.services.trail import audit_listing
from communities.services.trail.audit_listing import Filters

MAX_SEARCH = 200  # A search term has at most this many characters.
EXAMPLE = {
    "id": "019bfc1e-7d4a-7c53-9d0e-2f6a1b3c4d5e",
    "happened_at": "2026-01-31T09:30:00Z",
    "action": "project.updated",
    "source": "api_key",
    "actor_id": "41",
    "actor_name": "Marit Solberg",
    "actor_pseudonym": None,
    "api_key_id": "7",
    "key_prefix": "cq_live_k3Jq0b",
    "object_type": "project",
    "object_id": "7",
    "object_name": "Opening moves",
    "project_id": "7",
    "before": {"name": "Openings", "settings.share_results": False},
    "after": {"name": "Opening moves", "settings.share_results": True},
    "request_id": "6f1b0c4d9e8a4b7c8d2e3f4a5b6c7d8e",
}


class AuditIn(PerPageIn):
    """Filters and paging of the audit trail."""

    after = serializers.UUIDField(
        required=False, help_text="An entry's id: the page starts after it, equally fast at any depth."
    )
    project_id = serializers.IntegerField(required=False, min_value=1, max_value=MAX_ID)
    action = serializers.ChoiceField(choices=Action.values, required=False)
    actor_id = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_ID, help_text="The id of the user who acted."
    )
    actor_pseudonym = StrictTextField(
        max_length=8, required=False, help_text="The pseudonym of an erased person."
    )
    since = UtcDateTimeField(required=False, help_text="Of this time or later.")
    until = UtcDateTimeField(required=False, help_text="Of an earlier time.")
    search = StrictTextField(max_length=MAX_SEARCH, required=False)


class AuditEntryOut(serializers.Serializer[AuditEntry]):
    """One change."""

    id = serializers.UUIDField()
    happened_at = serializers.DateTimeField()
    action = serializers.ChoiceField(choices=Action.values)
    source = serializers.ChoiceField(  # type: ignore[assignment]  # the name is public, and hides DRF's
        choices=AuditEntry.Source.values,
        help_text=(
            "`system`: the service itself. `member`: a member who changes their own data, for example by "
            "joining."
        ),
    )
    actor_id = serializers.CharField(
        allow_null=True, help_text="The user who acted; null for `system`, and if the person was erased."
    )
    actor_name = serializers.CharField(allow_null=True, help_text="The name at the time of the entry.")
    actor_pseudonym = serializers.CharField(
        allow_null=True,
        help_text="A pseudonym for an erased person, the same in all their entries. Null for others.",
    )
    api_key_id = serializers.CharField(allow_null=True)
    key_prefix = serializers.CharField(
        allow_null=True, help_text="The key's prefix at the time of the entry."
    )
    object_type = serializers.CharField(help_text="Such as `project`, `response`, `webhook`, `member`.")
    object_id = serializers.CharField(allow_null=True, help_text="Null if the entry names no object.")
    object_name = serializers.CharField(allow_null=True, help_text="The name at the time of the entry.")
    project_id = serializers.CharField(allow_null=True, help_text="The project of the object, if any.")
    before = serializers.DictField(allow_null=True, help_text="The changed fields with their old values.")
    after = serializers.DictField(allow_null=True, help_text="The changed fields with their new values.")
    request_id = serializers.CharField(
        allow_null=True, help_text="The `X-Request-Id` of the response; null if there was no request."
    )


class AuditViewSet(CommunityViewSet):
    noun = "audit"
    least_role = {
        "list": Role.ADMIN,
    }

    @extend_schema(
        operation_id="audit_list",
        tags=["Audit trail"],
        summary="Read the audit trail",
        description=(
            "Returns every change by an API key, by staff in the admin, or by the service itself, newest "
            "first. The entry's `before` and `after` contain the fields that changed, but never answers or "
            "secrets. For the next page, send the last id as `after`. Each word of `search` must begin a "
            "word in the entry's names, ids, key prefixes or pseudonyms. [What entries contain, and for "
            "how long](/docs/details#read-the-audit-trail)."
        ),
        parameters=[AuditIn],
        responses=AuditEntryOut(many=True),
        examples=[OpenApiExample("A changed project", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        query = self.query(AuditIn)
        filters = Filters(
            project_id=query.get("project_id"),
            actions=[query["action"]] if "action" in query else [],
            actor_id=query.get("actor_id"),
            actor_pseudonym=query.get("actor_pseudonym", ""),
            since=query.get("since"),
            until=query.get("until"),
            search=query.get("search", ""),
        )
        try:
            page = audit_listing.page(
                community_id=self.actor.community_id,
                filters=filters,
                after=query.get("after"),
                per_page=query["per_page"],
            )
        except NotFound:
            refuse("after", "not_found", "`after` must be the id of an entry that is still kept.")
        return Response(
            {
                "data": [audit_listing.as_json(entry) for entry in page.entries],
                "pagination": {"per_page": query["per_page"], "has_more": page.has_more},
            }
        )
