"""What a member earned and awarded, all of it: told, and erased (decisions 4).

Who a member is, is looked up before, and whoever erases holds their lock (communities/services/people.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from xp.models import XpEntry
from xp.services import achievements, ledger, roles, standings

Json = dict[str, object]
AT_ONCE = 1_000


def held(*, community_id: int, member_id: int, user_id: int, at: datetime) -> Json:
    """What a member has. Their ledger may be long: see `xp_ledger`.

    `entries_for_others` is how often they gave or took XP of other members here: whose is not theirs to know.
    """
    totals = standings.of_member(member_id=member_id, at=at)
    by_hand = XpEntry.objects.filter(actor_id=user_id, member__community_id=community_id)
    return {
        "standing": {
            "xp_total": totals.total,
            "xp_monthly": totals.month,
            "participation": totals.participation,
        },
        "achievements": achievements.earned_by(member_ids=[member_id]).get(member_id, []),
        "roles": list(roles.granted_to(member_id=member_id)),
        "entries_for_others": by_hand.exclude(member_id=member_id).count(),
    }


def xp_ledger(*, community_id: int, member_id: int) -> Iterator[Json]:
    """Every entry, newest first, read a page at a time."""
    entries = ledger.entries(member_id=member_id)
    page = list(entries[:AT_ONCE])
    while page:
        yield from ledger.told(page, community_id=community_id)
        page = list(entries.filter(pk__lt=page[-1].pk)[:AT_ONCE])


@transaction.atomic
def erase(*, member_id: int) -> None:
    """Everything that a member earned goes. Of them in entries that they made for others a number is left."""
    ledger.erase(member_id=member_id)
    achievements.erase(member_id=member_id)
    roles.erase(member_id=member_id)
