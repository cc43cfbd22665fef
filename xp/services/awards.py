"""XP that an admin gives or takes by hand."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from communities import services as communities
from communities.errors import Conflict
from communities.services import members
from xp.models import XpEntry
from xp.services import ledger


@transaction.atomic
def award_by_hand(
    *, community_id: int, member_id: int, amount: int, note: str | None, actor_id: int, at: datetime
) -> XpEntry:
    """Give a member XP, or take it where `amount` is negative; the entry names the user who did it.

    Refuses a member who is not there or has left, and a community that uses no XP.
    """
    if members.place_of(community_id=community_id, member_id=member_id).has_left:
        raise Conflict("This member has left the community.")
    if not communities.get_settings(community_id=community_id).gives_xp:
        raise Conflict("This community's settings have XP switched off (`use_xp`).")
    return ledger.award(
        member_id=member_id,
        community_id=community_id,
        amount=amount,
        kind=XpEntry.SourceKind.ADMIN_MANUAL,
        at=at,
        actor_id=actor_id,
        note=note,
    )
