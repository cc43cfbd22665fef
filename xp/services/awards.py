"""Awards of XP that admins make by hand."""

from __future__ import annotations

from datetime import datetime

from communities import services as communities
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict
from communities.ground.transactions import in_transaction
from communities.services.people import members
from communities.services.trail import audit, presence
from xp.models import XpEntry
from xp.services import ledger


@in_transaction
def award_by_hand(*, actor: Actor, member_id: int, amount: int, note: str | None, at: datetime) -> XpEntry:
    """Give a member XP, or take it if `amount` is negative (rule 8.6). The entry records the user who did it.

    Raises `NoSuchMember` if there is no such member, and `Conflict` if the member has left or the community
    has XP switched off. Raises `ActorGone` if the actor's user has been erased or merged.
    """
    community_id = actor.community_id
    membership = members.get_membership(community_id=community_id, member_id=member_id)
    presence.require(actor=actor)
    if membership.has_left:
        raise Conflict("This member has left the community.")
    if not communities.get_settings(community_id=community_id).gives_xp:
        raise Conflict("XP is switched off in this community's settings (`use_xp`).")
    entry = ledger.award(
        member_id=member_id,
        community_id=community_id,
        amount=amount,
        kind=XpEntry.SourceKind.ADMIN_MANUAL,
        at=at,
        actor_id=actor.user_id,
        note=note,
    )
    _record(Action.XP_AWARDED, entry, actor=actor, user_id=membership.user_id, at=at)
    return entry


@in_transaction
def reset_by_hand(*, actor: Actor, member_id: int, at: datetime) -> XpEntry | None:
    """Set a member's XP to 0 by an entry. Returns None if the member has no XP.

    Raises `NoSuchMember`, and `ActorGone` as an award does.
    """
    membership = members.get_membership(community_id=actor.community_id, member_id=member_id)
    presence.require(actor=actor)
    entry = ledger.reset(member_id=member_id, community_id=actor.community_id, actor_id=actor.user_id, at=at)
    if entry is not None:
        _record(Action.XP_RESET, entry, actor=actor, user_id=membership.user_id, at=at)
    return entry


def _record(action: Action, entry: XpEntry, *, actor: Actor, user_id: int, at: datetime) -> None:
    """Write the change to the audit trail. The note is about a person, so it is stored only in the ledger."""
    whose = {"community_id": actor.community_id, "member_id": entry.member_id, "user_id": user_id}
    audit.record(
        actor=actor,
        action=action,
        on=members.subject_of(**whose),
        at=at,
        before={"xp_total": entry.balance_after - entry.delta},
        after={"xp_total": entry.balance_after, "xp_entry_id": entry.pk},
    )
