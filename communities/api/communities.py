"""The key's community (rule 1.10)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import StrictChoiceField
from communities.gate.pagination import PageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.models import ApiKey, Community

EXAMPLE = {
    "id": "710000000000000001",
    "name": "Harbour Chess Club",
    "platform": "chat",
    "tier": "premium",
    "mode": "live",
    "bot_credits": 40,
    "locale": "en-GB",
    "icon_url": None,
    "created_date": "2024-05-01T09:00:00Z",
    "total_project_count": 12,
    "active_project_count": 2,
    "topics": ["chess"],
    "user_setup_id": None,
}


class CommunityOut(serializers.ModelSerializer[Community]):
    id = serializers.CharField()
    mode = StrictChoiceField(
        choices=ApiKey.Mode.values,
        help_text="`test` for a key `cq_test_…`: the community is the test side, with an id of its own.",
    )
    user_setup_id = serializers.CharField(
        allow_null=True, help_text="The user who last completed the setup wizard; null if nobody has."
    )

    class Meta:
        model = Community
        fields = list(EXAMPLE)
        read_only_fields = fields


class CommunitiesViewSet(CommunityViewSet):
    noun = "community"
    least_role = {
        "list": Role.MEMBER,
        "retrieve": Role.MEMBER,
    }

    @extend_schema(
        operation_id="communities_list",
        tags=["Communities"],
        summary="List communities",
        description="Returns the community of the key, as a list of one.",
        parameters=[PageIn],
        responses=CommunityOut(many=True),
        examples=[OpenApiExample("The key's community", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        communities = Community.objects.filter(pk=self.actor.community_id).order_by("pk")
        return self.page(
            communities, self.query(PageIn), as_json=lambda community: CommunityOut(community).data
        )

    @extend_schema(
        operation_id="communities_get",
        tags=["Communities"],
        summary="Read a community",
        description=(
            "Returns the key's own community; any other is `404 not_found`. A test key (`mode` is `test`) "
            "gets the test side of its community, at the community's id and at the test side's id."
        ),
        responses=CommunityOut,
        examples=[OpenApiExample("A community", EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, **kwargs: Any) -> Response:
        return Response(CommunityOut(Community.objects.get(pk=self.actor.community_id)).data)
