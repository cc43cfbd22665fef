"""The members of a community, and the leaderboard (rules 1.13 and 8.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.utils.functional import cached_property
from drf_spectacular.utils import OpenApiExample, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import StrictChoiceField, StrictListField, StrictTextField
from communities.gate.idempotency import once
from communities.gate.pagination import KeysetIn, PageIn, page_after
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.ground.errors import refuse
from communities.ground.ids import MAX_ID
from communities.models import Member
from communities.services.people import memberships
from communities.services.people.members import NoSuchMember, get_membership
from communities.services.people.memberships import NewMember
from xp.serializers import MEMBER_EXAMPLE, TAG, MemberOut
from xp.services import leaderboard, members

FIRST_EXAMPLE = MEMBER_EXAMPLE | {"rank": 1}
ADDED_EXAMPLE = MEMBER_EXAMPLE | {
    "name": None,
    "rank": 31,
    "xp_total": 0,
    "xp_monthly": 0,
    "level": 0,
    "participation": 0,
    "achievements": [],
}
MAX_AT_ONCE = 100


class NewMemberIn(serializers.Serializer[Any]):
    """A person who becomes a member."""

    accepted_and_ignored = frozenset(MEMBER_EXAMPLE)

    nick = StrictTextField(max_length=200, help_text="Their name in this community.")
    access = StrictChoiceField(choices=Member.Access.values, default="member")
    platform_id = StrictTextField(
        max_length=128,
        required=False,
        allow_null=True,
        allow_blank=False,
        help_text=(
            "The member's account on the chat platform. The account is unproven until its owner signs in "
            "with it or acts in your community; then the owner becomes this member."
        ),
    )


class NewMembersIn(serializers.Serializer[Any]):
    """One new member, or up to 100 in `members`."""

    members = StrictListField(child=NewMemberIn(), min_length=1, max_length=MAX_AT_ONCE)

    def validate_members(self, people: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        seen: set[str] = set()
        for n, person in enumerate(people):
            platform_id = person.get("platform_id")
            if platform_id in seen:
                message = "Another member of this request has the same `platform_id`."
                refuse(f"members[{n}].platform_id", "duplicate", message)
            if platform_id is not None:
                seen.add(platform_id)
        return people


class MemberIn(serializers.Serializer[Any]):
    """The fields of a member to change."""

    accepted_and_ignored = frozenset(MEMBER_EXAMPLE)

    nick = StrictTextField(max_length=200, required=False, help_text="Their name in this community.")
    access = StrictChoiceField(choices=Member.Access.values, required=False)
    platform_id = StrictTextField(
        max_length=128,
        required=False,
        allow_null=True,
        allow_blank=False,
        help_text="The member's account on the chat platform; null removes the account.",
    )


class MembersOut(serializers.Serializer[Any]):
    """The members, in the order of the request."""

    data = MemberOut(many=True)  # type: ignore[assignment]


class MembersIn(KeysetIn):
    """Query parameters of the member list."""

    sorts_that_move = frozenset({"rank"})

    access = StrictChoiceField(choices=Member.Access.values, required=False)
    search = StrictTextField(
        max_length=200,
        required=False,
        help_text="A part of the nick or name, in any case, or a member's complete id.",
    )
    user_id = serializers.IntegerField(
        required=False, min_value=0, max_value=MAX_ID, help_text="The member with this `user_id`."
    )
    platform_id = StrictTextField(
        required=False, max_length=128, help_text="The member with this account on the chat platform."
    )
    sort = StrictChoiceField(
        choices=list(members.SORTS),
        default="id",
        help_text=(
            "`id`: in the order of ids. `rank`: most XP first, members who have left last; not with "
            "`after`. `name`: by nick, or by name if there is no nick, ignoring case. `joined_at`: "
            "earliest first. Null values come last; members with equal values are in the order of ids."
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
        "create": Role.ADMIN,
        "partial_update": Role.ADMIN,
    }

    figures = frozenset({"rank", "xp_total", "xp_monthly", "level", "participation", "achievements"})

    @cached_property
    def _changes(self) -> dict[str, Any]:
        return self.read(MemberIn)

    def find(self, *, member_id: int | None = None, **kwargs: Any) -> None:
        if member_id is not None:
            get_membership(community_id=self.actor.community_id, member_id=member_id)

    def lock(self, **kwargs: Any) -> None:
        memberships.lock_to_change(
            community_id=self.actor.community_id, member_id=kwargs["member_id"], changes=self._changes
        )

    @extend_schema(
        operation_id="members_list",
        tags=[TAG],
        summary="List members",
        description=(
            "Returns all members, including those who have left (see `left_at`). In the order of ranks, "
            "members may move between pages while you read. To keep a copy, read all members without "
            "`sort`, with the last id as `after`. Later, read the changed members with `updated_after`, "
            "set to a minute before your last reading. The event `member.erased` names erased members."
        ),
        parameters=[MembersIn],
        responses=MemberOut(many=True),
        examples=[OpenApiExample("One member", MEMBER_EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, **kwargs: Any) -> Response:
        query = self.query(MembersIn)
        selection: dict[str, Any] = {"community_id": self.actor.community_id, "filters": query}
        if "after" in query:
            return self._page_after(query, selection)
        rows = partial(members.page, **selection, sort=query["sort"], at=self.at)
        total = members.count(**selection)
        return self.page(rows, query, as_json=dict, total=total)

    def _page_after(self, query: Mapping[str, Any], selection: Mapping[str, Any]) -> Response:
        length, sort = query["per_page"] + 1, query["sort"]
        try:
            rows = members.page_after(query["after"], length, **selection, sort=sort, at=self.at)
        except NoSuchMember:
            refuse("after", "not_found", "`after` must be the id of a member of this community.")
        page, pagination = page_after(rows, query, total=members.count(**selection))
        return Response({"data": page, "pagination": pagination})

    @extend_schema(
        operation_id="members_get",
        tags=[TAG],
        summary="Read a member",
        description="Returns one member, even if the member has left.",
        responses=MemberOut,
        examples=[OpenApiExample("A member", MEMBER_EXAMPLE, response_only=True)],
    )
    def retrieve(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        return Response(members.get(community_id=self.actor.community_id, member_id=member_id, at=self.at))

    @extend_schema(
        operation_id="members_create",
        tags=[TAG],
        summary="Add members",
        description=(
            "Adds one member, or up to 100 at once as `members`; one fault refuses all of them. If a "
            "member has the `platform_id` already, this member is returned unchanged. The response is "
            "`201` if at least one member is new, otherwise `200`. A person's data is as you sent it until "
            "the person signs in or acts in your community; `user_id` may change then."
        ),
        request=PolymorphicProxySerializer(
            component_name="NewMemberOrMembers",
            serializers=[NewMemberIn, NewMembersIn],
            resource_type_field_name=None,
        ),
        responses={
            201: PolymorphicProxySerializer(
                component_name="MemberOrMembers",
                serializers=[MemberOut, MembersOut],
                resource_type_field_name=None,
            ),
            200: PolymorphicProxySerializer(
                component_name="MemberOrMembers",
                serializers=[MemberOut, MembersOut],
                resource_type_field_name=None,
            ),
        },
        examples=[
            OpenApiExample("One", {"platform_id": "820000000000000042", "nick": "marit"}, request_only=True),
            OpenApiExample(
                "Many",
                {"members": [{"nick": "Ola"}, {"nick": "Kari", "access": "creator"}]},
                request_only=True,
            ),
            OpenApiExample("Added", ADDED_EXAMPLE, response_only=True, status_codes=["201"]),
            OpenApiExample("There already", MEMBER_EXAMPLE, response_only=True, status_codes=["200"]),
        ],
    )
    @once
    def create(self, request: Request, **kwargs: Any) -> Response:
        are_many = "members" in self.body
        sent = self.read(NewMembersIn)["members"] if are_many else [self.read(NewMemberIn)]
        people = [NewMember(each["nick"], each["access"], each.get("platform_id")) for each in sent]
        added = memberships.add_members(actor=self.actor, people=people, at=self.at)
        data = members.of_ids(
            [each.member_id for each in added], community_id=self.actor.community_id, at=self.at
        )
        status = 201 if any(each.is_new for each in added) else 200
        return Response({"data": data} if are_many else data[0], status=status)

    @extend_schema(
        operation_id="members_update",
        tags=[TAG],
        summary="Change a member",
        description=(
            "Changes the fields in the request. The response is `409 conflict` for a member who has left, "
            "for the access of the only admin, and for a `platform_id` that another member has or that "
            "belongs to a person who signs in or has acted in your chat. If an admin gets a lower access, "
            "the invitations that they may no longer give end."
        ),
        request=MemberIn,
        responses=MemberOut,
        examples=[
            OpenApiExample("A creator", {"access": "creator"}, request_only=True),
            OpenApiExample("Changed", MEMBER_EXAMPLE | {"access": "creator"}, response_only=True),
        ],
    )
    @once
    def partial_update(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        memberships.change_member(actor=self.actor, member_id=member_id, changes=self._changes, at=self.at)
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
            "Returns the present members who have XP, most XP first; equal members are ordered by id. "
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
