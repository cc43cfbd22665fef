"""Members of a community and their leaderboard (interface 2.8, decisions 4)."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.http.fields import Choice
from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from communities.models import Member
from xp.services import listing

TAG = "Members"
EARNED_EXAMPLE = {
    "id": "3",
    "name": "Completed: Club evening",
    "image_url": "https://surveys.example.org/badges/3.svg",
    "project_id": "5",
    "awarded_at": "2026-01-31T09:30:00Z",
}
EXAMPLE = {
    "id": "17",
    "platform_id": "820000000000000042",
    "name": "Marit Solberg",
    "nick": "marit",
    "avatar_url": None,
    "access": "member",
    "rank": 4,
    "xp_total": 340,
    "xp_monthly": 40,
    "level": 2,
    "participation": 9,
    "achievements": [EARNED_EXAMPLE],
    "joined_at": "2025-05-01T09:00:00Z",
    "left_at": None,
}
FIRST_EXAMPLE = EXAMPLE | {"rank": 1}
ABOUT_MEMBERS = (
    "`rank` is by `xp_total` among the members who are present: equal totals share a rank (1, 1, 3), and "
    "members without XP come after all who have some. It is null for a member who has left, and for all "
    "where the community's `use_leader_board` is false. `xp_monthly` is the sum of this calendar month, UTC. "
    "Level *n* needs 50 · n · (n + 1) XP in total."
)


class MembersIn(PageIn):
    """Filters of the listing."""

    access = Choice(choices=Member.Access.values, required=False)
    search = serializers.CharField(
        max_length=200,
        required=False,
        help_text="A part of the nick or the name, in any case; or a member's whole id.",
    )
    sort = Choice(
        choices=["rank", "name", "joined_at"],
        default="rank",
        help_text=(
            "`rank`: most XP first, those who left last; `name`: by nick, else name, in any case; "
            "`joined_at`: who joined first comes first. What is null comes last."
        ),
    )


class LeaderboardIn(PageIn):
    """Which leaderboard."""

    period = Choice(
        choices=["all", "month"], default="all", help_text="XP in all, or in this calendar month, UTC."
    )


class EarnedAchievementOut(serializers.Serializer[Any]):
    """An achievement that a member has, as it was called and looked when it was earned."""

    id = serializers.CharField(help_text="The achievement's number in the community.")
    name = serializers.CharField()
    image_url = serializers.URLField()
    project_id = serializers.CharField(allow_null=True, help_text="Where it was earned.")
    awarded_at = serializers.DateTimeField()


class MemberOut(serializers.Serializer[Any]):
    """Somebody's place in the community."""

    id = serializers.CharField()
    platform_id = serializers.CharField(allow_null=True, help_text="Their account on the chat platform.")
    name = serializers.CharField(allow_null=True)
    nick = serializers.CharField(allow_null=True, help_text="What they are called in this community.")
    avatar_url = serializers.URLField(allow_null=True)
    access = Choice(choices=Member.Access.values)
    rank = serializers.IntegerField(allow_null=True, min_value=1)
    xp_total = serializers.IntegerField(min_value=0)
    xp_monthly = serializers.IntegerField(help_text="Below 0 where more was taken than given this month.")
    level = serializers.IntegerField(min_value=0)
    participation = serializers.IntegerField(min_value=0, help_text="Surveys and polls completed.")
    achievements = EarnedAchievementOut(many=True)
    joined_at = serializers.DateTimeField(allow_null=True)
    left_at = serializers.DateTimeField(allow_null=True)


class MemberViewSet(CommunityViewSet):
    noun = "member"

    @extend_schema(
        operation_id="members_list",
        tags=[TAG],
        summary="List members",
        description=f"All members, those who have left too (`left_at`). {ABOUT_MEMBERS}",
        parameters=[MembersIn],
        responses=MemberOut(many=True),
        examples=[OpenApiExample("One member", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        query = self.query(MembersIn)
        which: dict[str, Any] = {"community_id": self.key.community_id, "filters": query}
        rows = partial(listing.members, **which, sort=query["sort"], at=self.at)
        total = listing.count_members(**which)
        return self.page(rows, query, draw=dict, total=total)

    @extend_schema(
        operation_id="members_get",
        tags=[TAG],
        summary="Read a member",
        description=f"Also one who has left. {ABOUT_MEMBERS}",
        responses=MemberOut,
        examples=[OpenApiExample("A member", EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        return Response(listing.member(community_id=self.key.community_id, member_id=member_id, at=self.at))


class LeaderboardViewSet(CommunityViewSet):
    noun = "leaderboard"

    @extend_schema(
        operation_id="leaderboard_list",
        tags=[TAG],
        summary="Read the leaderboard",
        description=(
            "The members who are present and have XP, most first; among equals, who is longer known to the "
            "service. With `period=month` the XP of this calendar month (UTC) decides, and `rank` is by it; "
            "else `xp_total`. Equals share a rank (1, 1, 3), also across pages. `409 conflict` where the "
            "community's `use_leader_board` is false."
        ),
        parameters=[LeaderboardIn],
        responses=MemberOut(many=True),
        examples=[OpenApiExample("The first", FIRST_EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        query = self.query(LeaderboardIn)
        listing.refuse_without_leaderboard(community_id=self.key.community_id)
        which = {"community_id": self.key.community_id, "period": query["period"], "at": self.at}
        total = listing.count_ranked(**which)
        return self.page(partial(listing.leaderboard, **which), query, draw=dict, total=total)
