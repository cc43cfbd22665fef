"""Serializers and examples for members and XP, used by the APIs of xp and surveys (rules 1.13 and 8.1)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from communities.gate.fields import StrictChoiceField
from communities.models import Member
from xp.models import XpEntry
from xp.services.achievements import MOST_IN_LISTS, MOST_OF_ONE

TAG = "Members"
EARNED_EXAMPLE = {
    "id": "3",
    "name": "Completed: Club evening",
    "image_url": "https://surveys.example.org/badges/3.svg",
    "project_id": "5",
    "awarded_at": "2026-01-31T09:30:00Z",
}
MEMBER_EXAMPLE = {
    "id": "17",
    "user_id": "52",
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
    "updated_at": "2026-01-31T09:30:00Z",
}
ENTRY_EXAMPLE = {
    "id": 91,
    "delta": 40,
    "balance_after": 340,
    "source_kind": "admin_manual",
    "source_ref": None,
    "session_number": None,
    "actor_name": "Ingrid",
    "actor_pseudonym": None,
    "survey_name": None,
    "note": "Helped at the club evening",
    "created_at": "2026-01-31T09:30:00Z",
}


class EarnedAchievementOut(serializers.Serializer[Any]):
    """An achievement of a member, with the name and picture it had when it was earned."""

    id = serializers.CharField(help_text="The achievement's number in the community.")
    name = serializers.CharField()
    image_url = serializers.URLField()
    project_id = serializers.CharField(allow_null=True, help_text="The project in which it was earned.")
    awarded_at = serializers.DateTimeField()


class MemberOut(serializers.Serializer[Any]):
    """A member of a community with their XP, rank and achievements."""

    id = serializers.CharField()
    user_id = serializers.CharField(
        help_text=(
            "The id of the person, as `user_id` of their responses. A person may be a member of several "
            "communities."
        )
    )
    platform_id = serializers.CharField(
        allow_null=True,
        help_text=(
            "The member's account on the chat platform. An unproven account becomes null once somebody "
            "accepts an invitation for this member."
        ),
    )
    name = serializers.CharField(allow_null=True)
    nick = serializers.CharField(allow_null=True, help_text="The member's name in this community.")
    avatar_url = serializers.URLField(allow_null=True)
    access = StrictChoiceField(choices=Member.Access.values)
    rank = serializers.IntegerField(
        allow_null=True,
        min_value=1,
        help_text=(
            "The rank among present members by `xp_total`. Equal totals share a rank (1, 1, 3); members "
            "without XP rank last. Null for members who have left, and if `use_leader_board` is false."
        ),
    )
    xp_total = serializers.IntegerField(min_value=0)
    xp_monthly = serializers.IntegerField(
        help_text="XP of this month (UTC). Negative if deductions exceed awards."
    )
    level = serializers.IntegerField(min_value=0, help_text="Level *n* needs 50 · n · (n + 1) XP.")
    participation = serializers.IntegerField(min_value=0, help_text="Number of completed surveys and polls.")
    achievements = EarnedAchievementOut(
        many=True,
        help_text=f"The earliest first. Lists of members, the leaderboard and events have the newest "
        f"{MOST_IN_LISTS} of each member, and one member alone has the newest {MOST_OF_ONE:,}. All are in "
        "the data of a person.",
    )
    joined_at = serializers.DateTimeField(allow_null=True)
    left_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(
        help_text=(
            "When the member last changed, apart from XP and achievements. Rounded down if the change was "
            "noticed while the person opened an anonymous project."
        )
    )


@extend_schema_serializer(component_name="XpEntry")
class XpEntryOut(serializers.Serializer[Any]):
    """One change of a member's XP. Entries never change."""

    id = serializers.IntegerField()
    delta = serializers.IntegerField(
        help_text="The actual change. A deduction never takes the balance below 0."
    )
    balance_after = serializers.IntegerField(min_value=0)
    source_kind = StrictChoiceField(choices=XpEntry.SourceKind.values)
    source_ref = serializers.IntegerField(allow_null=True, help_text="The project's id.")
    session_number = serializers.IntegerField(allow_null=True)
    actor_name = serializers.CharField(
        allow_null=True,
        help_text="Current name of the user who awarded by hand; null otherwise, and once they are erased.",
    )
    actor_pseudonym = serializers.CharField(
        allow_null=True,
        help_text="In place of a user who awarded by hand and was erased: the same pseudonym as in the "
        "audit trail.",
    )
    survey_name = serializers.CharField(allow_null=True)
    note = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
