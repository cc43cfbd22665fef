"""Awards of XP that admins make by hand."""

from __future__ import annotations

from datetime import datetime

from communities import services as communities
from communities.errors import Conflict
from communities.services import members
from communities.transactions import in_transaction
from xp.models import XpEntry
from xp.services import ledger


@in_transaction
def award_by_hand(
    *, community_id: int, member_id: int, amount: int, note: str | None, actor_id: int, at: datetime
) -> XpEntry:
    """Give a member XP, or take it if `amount` is negative. The entry records the user who did it.

    Raises `NoSuchMember` if there is no such member, and `Conflict` if the member has left or the community
    has XP switched off.
    """
    if members.get_membership(community_id=community_id, member_id=member_id).has_left:
        raise Conflict("This member has left the community.")
    if not communities.get_settings(community_id=community_id).gives_xp:
        raise Conflict("XP is switched off in this community's settings (`use_xp`).")
    return ledger.award(
        member_id=member_id,
        community_id=community_id,
        amount=amount,
        kind=XpEntry.SourceKind.ADMIN_MANUAL,
        at=at,
        actor_id=actor_id,
        note=note,
    )
