"""Adding members by hand, and changing what they may do (decisions 4 and 15.24)."""

from __future__ import annotations

from datetime import datetime

from communities.actors import Actor
from communities.audit_actions import Action
from communities.errors import Conflict
from communities.models import Community, Member, User
from communities.services import audit, mails
from communities.services.members import NoSuchMember, subject_of
from communities.transactions import in_transaction


@in_transaction
def add_member(*, actor: Actor, nick: str, access: str, at: datetime) -> Member:
    """Create a person with a nick in the actor's community, and make them a member."""
    member = Member.objects.create(
        community_id=actor.community_id, user=User.objects.create(), nick=nick, access=access, joined_at=at
    )
    audit.record(
        actor=actor,
        action=Action.MEMBER_CREATED,
        on=audit.Subject(actor.community_id, "member", member.pk, nick),
        at=at,
        after={"access": access},
    )
    return member


@in_transaction
def change_access(*, actor: Actor, member_id: int, access: str, at: datetime) -> Member:
    """Change what a present member may do. Raises NoSuchMember.

    Refuses (Conflict) a member who has left, and to take the access `admin` from the only admin.
    """
    member = _lock(actor.community_id, member_id)
    if not member.belongs:
        raise Conflict("This member has left the community.")
    if member.access == access:
        return member
    if is_only_admin(member):
        raise Conflict("A community needs an admin: make somebody else an admin first.")
    before, member.access = member.access, access
    member.save(update_fields=["access"])
    audit.record(
        actor=actor,
        action=Action.MEMBER_UPDATED,
        on=subject_of(community_id=member.community_id, member_id=member.pk, user_id=member.user_id),
        at=at,
        before={"access": before},
        after={"access": access},
    )
    return member


@in_transaction
def change_email(*, actor: Actor, member_id: int, email: str, at: datetime) -> Member:
    """Change where staff write to a present member; empty: nowhere. Raises NoSuchMember.

    Refuses (Conflict) a member who has left, and an address that no mail can be sent to. The audit trail says
    that the address changed, not what it is.
    """
    mails.require_sendable(email, field="email")
    member = _lock(actor.community_id, member_id)
    if not member.belongs:
        raise Conflict("This member has left the community.")
    if member.email == email:
        return member
    before, member.email = member.email, email
    member.save(update_fields=["email"])
    audit.record(
        actor=actor,
        action=Action.MEMBER_UPDATED,
        on=subject_of(community_id=member.community_id, member_id=member.pk, user_id=member.user_id),
        at=at,
        before={"has_email": bool(before)},
        after={"has_email": bool(email)},
    )
    return member


def is_only_admin(member: Member) -> bool:
    """Whether the community would have no admin without this member."""
    admins = Member.objects.filter(
        community_id=member.community_id,
        access=Member.Access.ADMIN,
        left_at__isnull=True,
        user__is_active=True,
    )
    is_admin = member.access == Member.Access.ADMIN and member.belongs
    return is_admin and not admins.exclude(pk=member.pk).exists()


def _lock(community_id: int, member_id: int) -> Member:
    """Lock a member, and the community before, so that two admins cannot take each other's access at once."""
    Community.objects.select_for_update(no_key=True).get(pk=community_id)
    rows = Member.objects.select_for_update(no_key=True).filter(community_id=community_id, pk=member_id)
    member = rows.first()
    if member is None:
        raise NoSuchMember
    return member
