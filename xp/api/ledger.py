"""A member's XP ledger, and awards that admins make by hand (chapter 8)."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import StrictIntegerField, StrictTextField
from communities.gate.idempotency import once
from communities.gate.pagination import PageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.services.people.members import get_membership
from xp.serializers import ENTRY_EXAMPLE, MEMBER_EXAMPLE, TAG, MemberOut, XpEntryOut
from xp.services import awards, ledger, members

MAX_XP_PER_AWARD = 1_000_000


@extend_schema_field(
    {
        "type": "integer",
        "minimum": -MAX_XP_PER_AWARD,
        "maximum": MAX_XP_PER_AWARD,
        "not": {"const": 0},
        "description": "XP to give, or to take if negative.",
    }
)
class XpAmount(StrictIntegerField):
    """XP to give or to take: any whole number except 0."""

    default_error_messages = {"not_allowed": "must not be 0."}

    def to_internal_value(self, data: Any) -> int:
        amount = super().to_internal_value(data)
        if amount == 0:
            self.fail("not_allowed")
        return amount


class AwardIn(serializers.Serializer[Any]):
    amount = XpAmount(min_value=-MAX_XP_PER_AWARD, max_value=MAX_XP_PER_AWARD)
    note = StrictTextField(max_length=500, allow_null=True, required=False)


class AwardOut(serializers.Serializer[Any]):
    entry = XpEntryOut()
    member = MemberOut(help_text="The member after the award.")


class LedgerViewSet(CommunityViewSet):
    noun = "xp"
    least_role = {
        "list": Role.MEMBER,  # Members read only their own ledger: see xp.services.ledger.
        "create": Role.ADMIN,
    }

    def find(self, **kwargs: Any) -> None:
        get_membership(community_id=self.actor.community_id, member_id=kwargs["member_id"])

    @extend_schema(
        operation_id="xp_list",
        tags=[TAG],
        summary="Read a member's XP ledger",
        description=(
            "Returns the ledger, newest entry first. Every key may read the ledger of its own user's "
            "member; only admins may read the ledgers of others. Entries of anonymous projects have no "
            "session number and no time of day, and are added after the hour (or day) of the answer."
        ),
        parameters=[PageIn],
        responses=XpEntryOut(many=True),
        examples=[OpenApiExample("One entry", ENTRY_EXAMPLE, response_only=True)],
    )
    def list(self, request: Request, /, member_id: int, **kwargs: Any) -> Response:
        member = {"community_id": self.actor.community_id, "member_id": member_id}
        ledger.refuse_unless_readable(**member, role=self.actor.role, user_id=self.actor.user_id)
        query = self.query(PageIn)
        total = ledger.count(member_id=member_id)
        return self.page(partial(ledger.page, **member), query, as_json=dict, total=total)

    @extend_schema(
        operation_id="xp_award",
        tags=[TAG],
        summary="Give or take XP by hand",
        description=(
            f"Gives XP to a member, or takes XP away. `amount` is from -{MAX_XP_PER_AWARD:,} to "
            f"{MAX_XP_PER_AWARD:,}. A deduction stops at 0: `delta` is the actual change, and an entry is "
            "written even if `delta` is 0. The entry's kind is `admin_manual`, and its `actor_name` is "
            "the user of the key. The response is `409 conflict` if the member has left or the "
            "community's `use_xp` is false."
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
            actor=self.actor,
            member_id=member_id,
            amount=body["amount"],
            note=body.get("note"),
            at=self.at,
        )
        (entry_json,) = ledger.entries_as_json([entry], community_id=self.actor.community_id)
        member = members.get(community_id=self.actor.community_id, member_id=member_id, at=self.at)
        return Response({"entry": entry_json, "member": member}, status=201)
