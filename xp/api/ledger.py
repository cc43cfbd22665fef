"""A member's XP: its ledger, and what an admin adds to it by hand (interface 2.9, decisions 4 and 9)."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.http.fields import Text, Whole
from communities.http.idempotency import once
from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from xp.http import ABOUT_MEMBERS, ENTRY_EXAMPLE, MEMBER_EXAMPLE, TAG, EntryOut, MemberOut
from xp.services import awards, ledger, members

MOST_XP_AT_ONCE = 1_000_000


@extend_schema_field(
    {
        "type": "integer",
        "minimum": -MOST_XP_AT_ONCE,
        "maximum": MOST_XP_AT_ONCE,
        "not": {"const": 0},
        "description": "XP to give, or, where negative, to take.",
    }
)
class Amount(Whole):
    """XP to give or to take, so never 0."""

    default_error_messages = {"not_allowed": "must not be 0."}

    def to_internal_value(self, data: Any) -> int:
        amount = super().to_internal_value(data)
        if amount == 0:
            self.fail("not_allowed")
        return amount


class AwardIn(serializers.Serializer[Any]):
    amount = Amount(min_value=-MOST_XP_AT_ONCE, max_value=MOST_XP_AT_ONCE)
    note = Text(max_length=500, allow_null=True, required=False)


class AwardOut(serializers.Serializer[Any]):
    entry = EntryOut()
    member = MemberOut(help_text="The member with the entry counted in.")


class LedgerViewSet(CommunityViewSet):
    noun = "xp"

    @extend_schema(
        operation_id="xp_list",
        tags=[TAG],
        summary="Read a member's XP ledger",
        description=(
            "Newest first. Everybody may read their own (the member whose user made the key), admins that of "
            "others. Entries of anonymous projects carry no session number and only the day as their time."
        ),
        parameters=[PageIn],
        responses=EntryOut(many=True),
        examples=[OpenApiExample("One entry", ENTRY_EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        query = self.query(PageIn)
        whose = {"community_id": self.key.community_id, "member_id": member_id}
        ledger.refuse_unless_readable(**whose, role=self.key.role, user_id=self.key.user_id)
        total = ledger.count(member_id=member_id)
        return self.page(partial(ledger.page, **whose), query, draw=dict, total=total)

    @extend_schema(
        operation_id="xp_award",
        tags=[TAG],
        summary="Give or take XP by hand",
        description=(
            f"At most {MOST_XP_AT_ONCE:,} either way. A deduction stops at 0: `delta` says what really "
            "changed, and an entry is written even where that is nothing. The entry's kind is "
            "`admin_manual`, its `actor_name` the user of the key. `409 conflict` where the member has "
            f"left, or the community's `use_xp` is false. Needs the role admin. {ABOUT_MEMBERS}"
        ),
        request=AwardIn,
        responses={201: AwardOut},
        examples=[
            OpenApiExample("For help", {"amount": 40, "note": ENTRY_EXAMPLE["note"]}, request_only=True),
            OpenApiExample(
                "Awarded",
                {"entry": ENTRY_EXAMPLE, "member": MEMBER_EXAMPLE},
                response_only=True,
                status_codes=["201"],
            ),
        ],
    )
    @once
    def create(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        body = self.read(AwardIn)
        entry = awards.award_by_hand(
            community_id=self.key.community_id,
            member_id=member_id,
            amount=body["amount"],
            note=body.get("note"),
            actor_id=self.key.user_id,
            at=self.at,
        )
        (told,) = ledger.told([entry], community_id=self.key.community_id)
        member = members.one(community_id=self.key.community_id, member_id=member_id, at=self.at)
        return Response({"entry": told, "member": member}, status=201)
