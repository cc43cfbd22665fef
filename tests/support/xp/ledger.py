"""Awards of XP at noon, and the contents of a member's ledger and standing."""

from __future__ import annotations

from typing import Any

from communities.models import Member
from tests.support.moments import NOON
from xp.models import Standing, XpEntry
from xp.services import ledger

Kind = XpEntry.SourceKind


def award(
    member: Member, amount: int, kind: XpEntry.SourceKind = Kind.ADMIN_MANUAL, **fields: Any
) -> XpEntry:
    """Award XP by the service."""
    return ledger.award(
        member_id=member.pk,
        community_id=member.community_id,
        amount=amount,
        kind=kind,
        **{"at": NOON, **fields},
    )


def chain(member: Member) -> list[tuple[int, int]]:
    """The change and the balance of each of a member's entries, oldest first."""
    entries = XpEntry.objects.filter(member=member).order_by("id")
    return [(entry.delta, entry.balance_after) for entry in entries]


def standing(member: Member) -> Standing:
    """The member's totals as stored."""
    return Standing.objects.get(member=member)
