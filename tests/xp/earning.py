"""Members of one community, and what they earn there."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import Any

from communities.models import Community, Member, User
from xp.models import Standing, XpEntry
from xp.services import ledger

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
Kind = XpEntry.SourceKind
_numbers = count(9_000)


def community(name: str = "Chess club") -> Community:
    return Community.objects.create(id=next(_numbers), name=name)


def member(of: Community | None = None, **fields: Any) -> Member:
    user = User.objects.create(name=fields.pop("name", "Ann"))
    return Member.objects.create(community=of or community(), user=user, **fields)


def award(to: Member, amount: int, kind: XpEntry.SourceKind = Kind.ADMIN_MANUAL, **fields: Any) -> XpEntry:
    return ledger.award(
        member_id=to.pk,
        community_id=to.community_id,
        amount=amount,
        kind=kind,
        **{"at": NOON, **fields},
    )


def chain(of: Member) -> list[tuple[int, int]]:
    """Changes and balances of a member's entries, oldest first."""
    rows = XpEntry.objects.filter(member=of).order_by("id")
    return [(entry.delta, entry.balance_after) for entry in rows]


def standing(of: Member) -> Standing:
    return Standing.objects.get(member=of)
