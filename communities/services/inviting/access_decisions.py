"""The decisions of staff about a member's access, from the audit trail, and their effect in a merge.

decisions_about(member)     when staff last changed, lowered and gave the access of a member
merged(own, other)          the access of a member who was two members
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from communities.ground.actors import Role
from communities.ground.audit_actions import Action
from communities.models import AuditEntry, Member
from communities.services.trail import audit

INVITED_AT = "invited_at"  # The entry of a person who joined by an invitation contains this key.


@dataclass(frozen=True, slots=True)
class Decisions:
    """When staff last changed, lowered and gave the access of a member; None if the trail does not say.

    Staff give access when they add a person, send an invitation that is accepted later, or raise the access.
    Staff give no access to people who join an open community or whom the chat platform lists. If the trail is
    too old to show how a person joined, the time of joining counts as the time when staff added them.
    """

    changed_at: datetime | None
    lowered_at: datetime | None
    given_at: datetime | None


def decisions_about(member: Member, *, own_user_ids: Collection[int] = frozenset()) -> Decisions:
    """The decisions about a member and about the members who were merged into them.

    `own_user_ids` are accounts of the person. If the person lowers the access of one account with another,
    staff have taken nothing.
    """
    ids = audit.member_ids_of(community_id=member.community_id, member_id=member.pk)
    entries = AuditEntry.objects.filter(
        community_id=member.community_id,
        object_type="member",
        object_id__in=[str(each) for each in ids],
        action__in=[Action.MEMBER_CREATED, Action.MEMBER_UPDATED, Action.MEMBER_JOINED],
    )
    changed: list[datetime] = []
    lowered: list[datetime] = []
    given: list[datetime] = []
    if not any(entry.action != Action.MEMBER_UPDATED for entry in entries) and member.joined_at:
        given.append(member.joined_at)
    for entry in entries:
        before, after = entry.before or {}, entry.after or {}
        if entry.action == Action.MEMBER_JOINED and INVITED_AT in after:
            given.append(datetime.fromisoformat(after[INVITED_AT]))
        elif entry.action == Action.MEMBER_CREATED and entry.source != AuditEntry.Source.SYSTEM:
            given.append(entry.happened_at)
        elif entry.action == Action.MEMBER_UPDATED and "access" in before:
            changed.append(entry.happened_at)
            if Role.of(after["access"]) > Role.of(before["access"]):
                given.append(entry.happened_at)
            elif entry.actor_id not in own_user_ids:
                lowered.append(entry.happened_at)
    return Decisions(*(max(times, default=None) for times in (changed, lowered, given)))


@dataclass(frozen=True, slots=True)
class Merged:
    """The access of a member who was two members.

    `taken_at` is the time when staff last took access from one of the two.
    """

    access: str
    left_at: datetime | None
    left_server: bool
    taken_at: datetime | None


def merged(own: Member, other: Member, *, user_ids: Collection[int]) -> Merged:
    """The higher access of two memberships of one person, or the access of the one that has not ended.

    Access that staff have taken from one of them stays taken, unless staff have since given access to the
    other one. So a second account undoes neither a removal nor a demotion. `user_ids` are the accounts of the
    person.
    """
    of_own, of_other = (decisions_about(each, own_user_ids=user_ids) for each in (own, other))
    sides = ((own, of_own, other, of_other), (other, of_other, own, of_own))
    removals = [
        one.removed_at
        for one, _, another, since in sides
        if one.removed_at and (another.removed_at or _stays(one.removed_at, since))
    ]
    lowered = [one.access for one, decisions, _, since in sides if _stays(decisions.lowered_at, since)]
    taken = (own.removed_at, other.removed_at, of_own.lowered_at, of_other.lowered_at)
    current = [each for each in (own, other) if each.belongs] or [own, other]
    highest = max((each.access for each in current), key=Role.of)
    access = min([highest, *lowered], key=Role.of)
    taken_at = max((at for at in taken if at is not None), default=None)
    if removals:
        return Merged(access, max(removals), left_server=False, taken_at=taken_at)
    if own.belongs or other.belongs:
        return Merged(access, None, left_server=False, taken_at=taken_at)
    left = other if own.removed_at else own
    return Merged(access, left.left_at, left_server=True, taken_at=taken_at)


def _stays(taken_at: datetime | None, since: Decisions) -> bool:
    """Whether staff took access from one membership, and gave the other membership its access earlier."""
    return taken_at is not None and (since.given_at is None or since.given_at <= taken_at)
