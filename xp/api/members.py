"""The members of a community, and the leaderboard (interface 2.8, decisions 4)."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.actors import Role
from communities.http.fields import StrictChoiceField
from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from communities.models import Member
from xp.serializers import ABOUT_MEMBERS, MEMBER_EXAMPLE, TAG, MemberOut
from xp.services import leaderboard, members

FIRST_EXAMPLE = MEMBER_EXAMPLE | {"rank": 1}


class MembersIn(PageIn):
    """Query parameters of the member list."""

    access = StrictChoiceField(choices=Member.Access.values, required=False)
    search = serializers.CharField(
        max_length=200,
        required=False,
        help_text="Part of the nick or name, ignoring case; or a member's complete id.",
    )
    sort = StrictChoiceField(
        choices=["rank", "name", "joined_at"],
        default="rank",
        help_text=(
            "`rank`: most XP first, members who have left last. `name`: by nick, or by name if there is no "
            "nick, ignoring case. `joined_at`: earliest first. Null values come last."
        ),
    )


class LeaderboardIn(PageIn):
    """Query parameters of the leaderboard."""

    period = StrictChoiceField(
        choices=["all", "month"],
        default="all",
        help_text="Total XP, or XP of the current calendar month, UTC.",
    )


class MemberViewSet(CommunityViewSet):
    noun = "member"
    least_role = {
        "list": Role.MEMBER,
        "retrieve": Role.MEMBER,
    }

    @extend_schema(
        operation_id="members_list",
        tags=[TAG],
        summary="List members",
        description=f"All members, including those who have left (see `left_at`). {ABOUT_MEMBERS}",
        parameters=[MembersIn],
        responses=MemberOut(many=True),
        examples=[OpenApiExample("One member", MEMBER_EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        query = self.query(MembersIn)
        selection: dict[str, Any] = {"community_id": self.actor.community_id, "filters": query}
        rows = partial(members.page, **selection, sort=query["sort"], at=self.at)
        total = members.count(**selection)
        return self.page(rows, query, as_json=dict, total=total)

    @extend_schema(
        operation_id="members_get",
        tags=[TAG],
        summary="Read a member",
        description=f"Also finds a member who has left. {ABOUT_MEMBERS}",
        responses=MemberOut,
        examples=[OpenApiExample("A member", MEMBER_EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        return Response(members.get(community_id=self.actor.community_id, member_id=member_id, at=self.at))


class LeaderboardViewSet(CommunityViewSet):
    noun = "leaderboard"
    least_role = {
        "list": Role.MEMBER,
    }
    reads_conflict = True

    @extend_schema(
        operation_id="leaderboard_list",
        tags=[TAG],
        summary="Read the leaderboard",
        description=(
            "The present members who have XP, most XP first; equal members are ordered by id. "
            "`period=month` orders and ranks by the XP of the current calendar month (UTC), `period=all` by "
            "`xp_total`. Equal members share a rank (1, 1, 3), also across pages. `409 conflict` if the "
            "community's `use_leader_board` is false."
        ),
        parameters=[LeaderboardIn],
        responses=MemberOut(many=True),
        examples=[OpenApiExample("The first", FIRST_EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        query = self.query(LeaderboardIn)
        leaderboard.refuse_where_switched_off(community_id=self.actor.community_id)
        board = {"community_id": self.actor.community_id, "period": query["period"], "at": self.at}
        total = leaderboard.count(**board)
        return self.page(partial(leaderboard.page, **board), query, as_json=dict, total=total)
