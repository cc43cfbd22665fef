"""What the community's achievements are called and look like."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from xp.http import TAG
from xp.services import achievements

EXAMPLE = {
    "id": "3",
    "name": "Completed: Club evening",
    "image_url": "https://surveys.example.org/badges/3.svg",
    "role_id": None,
}


class AchievementOut(serializers.Serializer[Any]):
    """What an achievement is called and looks like from now on; what was earned stays as it was."""

    id = serializers.CharField(help_text="Its number in the community, which `achievement_id` means.")
    name = serializers.CharField()
    image_url = serializers.URLField(help_text="Its own picture, else one that is drawn for it.")
    role_id = serializers.CharField(allow_null=True, help_text="Granted with it on the chat platform.")


class AchievementViewSet(CommunityViewSet):
    noun = "achievement"

    @extend_schema(
        operation_id="achievements_list",
        tags=[TAG],
        summary="List achievements",
        description=(
            "Those that are described, by their numbers. A project that grants one of its own describes it; "
            "a script may grant further numbers, which are then called `Achievement <number>`."
        ),
        parameters=[PageIn],
        responses=AchievementOut(many=True),
        examples=[OpenApiExample("One achievement", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        described = achievements.described(community_id=self.key.community_id)
        return self.page(described, self.query(PageIn), draw=achievements.description_as_json)
