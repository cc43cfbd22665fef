"""The community's verified sources (rules 1.18 and 1.19)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.pagination import PageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.models import VerifiedSource
from communities.services.tenants import verified_sources

EXAMPLE = {
    "id": 3,
    "provider": "streaming",
    "rule": "subscribes_to",
    "target": "141981764",
    "label": "Subscribers of the Harbour stream",
    "created_at": "2026-01-31T09:30:00Z",
}


class VerifiedSourceOut(serializers.Serializer[VerifiedSource]):
    """A rule about an account on another platform, which respondents may have to meet."""

    id = serializers.IntegerField(help_text="For `delivery.audience.verified_source_ids`.")
    provider = serializers.ChoiceField(
        choices=["chat", "video", "streaming", "game_store", "membership"],
        help_text="The `provider` of responses that this source admits.",
    )
    rule = serializers.ChoiceField(
        choices=VerifiedSource.Rule.values,
        help_text=(
            "What the account must do: exist (`has_account`), be in a chat server (`in_server`), subscribe "
            "to or follow a channel (`subscribes_to`, `follows`), own a game (`owns`), support a campaign, "
            "or with a certain tier (`supports`, `has_tier`)."
        ),
    )
    target = serializers.CharField(
        allow_null=True,
        help_text=(
            "The platform's id of the server, channel, game, campaign or tier; null with `has_account`."
        ),
    )
    label = serializers.CharField(help_text="What respondents read.")  # type: ignore[assignment]
    created_at = serializers.DateTimeField()


def as_json(source: VerifiedSource) -> dict[str, object]:
    return {
        "id": source.pk,
        "provider": source.provider,
        "rule": source.rule,
        "target": source.target or None,
        "label": source.label,
        "created_at": source.created_at,
    }


class VerifiedSourceViewSet(CommunityViewSet):
    noun = "verified_source"
    least_role = {
        "list": Role.MEMBER,
    }

    @extend_schema(
        operation_id="verified_sources_list",
        tags=["Communities"],
        summary="List verified sources",
        description=(
            "Returns the verified sources that staff have set up in the admin, oldest first. If a project "
            "lists sources in `delivery.audience.verified_source_ids`, respondents must meet at least one "
            "of these sources. A platform's confirmation is valid for 24 hours."
        ),
        parameters=[PageIn],
        responses=VerifiedSourceOut(many=True),
        examples=[OpenApiExample("One source", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        rows = verified_sources.in_community(community_id=self.actor.community_id)
        return self.page(rows, self.query(PageIn), as_json=as_json)
