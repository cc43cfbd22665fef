"""The achievements that a community has defined: `GET /achievements`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.pagination import PageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from xp.serializers import TAG
from xp.services import achievements

EXAMPLE = {
    "id": "3",
    "name": "Completed: Club evening",
    "image_url": "https://surveys.example.org/badges/3.svg",
    "role_id": None,
}


class AchievementOut(serializers.Serializer[Any]):
    """The current description of an achievement.

    Members who earned it earlier keep the earlier description.
    """

    id = serializers.CharField(help_text="Its number in the community; `achievement_id` refers to it.")
    name = serializers.CharField()
    image_url = serializers.URLField(help_text="Its picture; without one, a generated badge.")
    role_id = serializers.CharField(
        allow_null=True, help_text="The role granted with it on the chat platform."
    )


class AchievementViewSet(CommunityViewSet):
    noun = "achievement"
    least_role = {
        "list": Role.MEMBER,
    }

    @extend_schema(
        operation_id="achievements_list",
        tags=[TAG],
        summary="List achievements",
        description=(
            "Returns all achievements of the community, ordered by number. A project that grants its own "
            "achievement also names it. A script may grant further numbers; they are called `Achievement "
            "<number>` until somebody names them."
        ),
        parameters=[PageIn],
        responses=AchievementOut(many=True),
        examples=[OpenApiExample("One achievement", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        rows = achievements.in_community(community_id=self.actor.community_id)
        return self.page(rows, self.query(PageIn), as_json=achievements.description_as_json)
