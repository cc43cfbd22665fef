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
from xp.http import ABOUT_MEMBERS, MEMBER_EXAMPLE, TAG, MemberOut
from xp.services import leaderboard, members

FIRST_EXAMPLE = MEMBER_EXAMPLE | {"rank": 1}


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


class MemberViewSet(CommunityViewSet):
    noun = "member"

    @extend_schema(
        operation_id="members_list",
        tags=[TAG],
        summary="List members",
        description=f"All members, those who have left too (`left_at`). {ABOUT_MEMBERS}",
        parameters=[MembersIn],
        responses=MemberOut(many=True),
        examples=[OpenApiExample("One member", MEMBER_EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        query = self.query(MembersIn)
        which: dict[str, Any] = {"community_id": self.key.community_id, "filters": query}
        rows = partial(members.page, **which, sort=query["sort"], at=self.at)
        total = members.count(**which)
        return self.page(rows, query, draw=dict, total=total)

    @extend_schema(
        operation_id="members_get",
        tags=[TAG],
        summary="Read a member",
        description=f"Also one who has left. {ABOUT_MEMBERS}",
        responses=MemberOut,
        examples=[OpenApiExample("A member", MEMBER_EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        return Response(members.one(community_id=self.key.community_id, member_id=member_id, at=self.at))


class LeaderboardViewSet(CommunityViewSet):
    noun = "leaderboard"
    reads_conflict = True

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
        leaderboard.refuse_where_switched_off(community_id=self.key.community_id)
        which = {"community_id": self.key.community_id, "period": query["period"], "at": self.at}
        total = leaderboard.count(**which)
        return self.page(partial(leaderboard.page, **which), query, draw=dict, total=total)
