"""Adding members by hand, and changing what they may do (decisions 4 and 15.24).

An account on the chat platform names one person in the whole service, who may be a member of several
communities and sign in with it. So a community may give an account to its own members only as long as
nobody signs in as them and no other community knows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from communities.actors import Actor
from communities.audit_actions import Action
from communities.errors import Conflict
from communities.models import Community, Identity, Member, User
from communities.services import audit, mails
from communities.services.members import NoSuchMember, subject_of
from communities.transactions import in_transaction


@dataclass(frozen=True, slots=True)
class NewMember:
    """Somebody to be added. `platform_id` is their account on the chat platform, if it is known."""

    nick: str
    access: str = Member.Access.MEMBER
    platform_id: str | None = None


@dataclass(frozen=True, slots=True)
class AddedMember:
    """A member, and whether they were added now."""

    member_id: int
    is_new: bool


@in_transaction
def add_members(*, actor: Actor, people: Sequence[NewMember], at: datetime) -> list[AddedMember]:
    """Add people to the actor's community, in their order; who has the `platform_id` there is left as is.

    No two people have the same `platform_id`. Somebody whom another community or a sign-in made known is the
    same person here.
    """
    Community.objects.select_for_update(no_key=True).get(pk=actor.community_id)
    user_ids = _users_of({each.platform_id for each in people if each.platform_id is not None})
    present = dict(
        Member.objects.filter(community_id=actor.community_id, user_id__in=user_ids.values()).values_list(
            "user_id", "pk"
        )
    )
    nameless = iter(User.objects.bulk_create([User() for each in people if each.platform_id is None]))
    added: list[AddedMember] = []
    for each in people:
        user_id = next(nameless).pk if each.platform_id is None else user_ids[each.platform_id]
        if user_id in present:
            added.append(AddedMember(present[user_id], is_new=False))
            continue
        member = Member.objects.create(
            community_id=actor.community_id,
            user_id=user_id,
            nick=each.nick,
            access=each.access,
            joined_at=at,
        )
        _note_added(member, actor=actor, at=at)
        added.append(AddedMember(member.pk, is_new=True))
    return added


def _users_of(platform_ids: set[str]) -> Mapping[str, int]:
    """The users with these accounts on the chat platform, made where nobody has one yet."""
    accounts = Identity.objects.filter(
        provider=Identity.Provider.CHAT, community__isnull=True, platform_id__in=platform_ids
    )
    known = set(accounts.values_list("platform_id", flat=True))
    missing = sorted(platform_ids - known)
    users = User.objects.bulk_create([User() for _ in missing])
    Identity.objects.bulk_create(
        [
            Identity(user=user, provider=Identity.Provider.CHAT, platform_id=platform_id)
            for user, platform_id in zip(users, missing, strict=True)
        ],
        ignore_conflicts=True,  # somebody signs in with it at this moment
    )
    found = dict(accounts.all().values_list("platform_id", "user_id"))
    User.objects.filter(pk__in={user.pk for user in users} - set(found.values())).delete()
    return found


def _note_added(member: Member, *, actor: Actor, at: datetime) -> None:
    audit.record(
        actor=actor,
        action=Action.MEMBER_CREATED,
        on=audit.Subject(actor.community_id, "member", member.pk, member.nick or ""),
        at=at,
        after={"access": member.access},
    )


@in_transaction
def add_member(*, actor: Actor, nick: str, access: str, at: datetime) -> Member:
    """Create a person with a nick in the actor's community, and make them a member."""
    member = Member.objects.create(
        community_id=actor.community_id, user=User.objects.create(), nick=nick, access=access, joined_at=at
    )
    _note_added(member, actor=actor, at=at)
    return member


@in_transaction
def change_member(*, actor: Actor, member_id: int, changes: Mapping[str, Any], at: datetime) -> None:
    """Change the `access`, `nick` and `platform_id` of a present member, those that are given.

    Raises NoSuchMember. Refuses (Conflict) as `change_access` does, and a `platform_id` that somebody else
    has or that is not the community's to change. The audit trail says that a name or an account changed, not
    to what: it outlives the person's erasure.
    """
    member = _lock(actor.community_id, member_id)
    if not member.belongs:
        raise Conflict("This member has left the community.")
    if "access" in changes:
        change_access(actor=actor, member_id=member_id, access=changes["access"], at=at)
    changed = []
    if "nick" in changes and changes["nick"] != member.nick:
        Member.objects.filter(pk=member.pk).update(nick=changes["nick"])
        changed.append("nick")
    if "platform_id" in changes and _change_account(member, changes["platform_id"]):
        changed.append("platform_id")
    if changed:
        audit.record(
            actor=actor,
            action=Action.MEMBER_UPDATED,
            on=subject_of(community_id=member.community_id, member_id=member.pk, user_id=member.user_id),
            at=at,
            after=dict.fromkeys(changed, "changed"),
        )


def _change_account(member: Member, platform_id: str | None) -> bool:
    """Give a member another account on the chat platform, or none. Returns whether that changed anything."""
    own = Identity.objects.select_for_update().filter(
        user_id=member.user_id, provider=Identity.Provider.CHAT, community__isnull=True
    )
    present = list(own.order_by("pk"))
    if (present[0].platform_id if present else None) == platform_id:
        return False
    _require_ours(member)
    if platform_id is not None:
        account = {"provider": Identity.Provider.CHAT, "platform_id": platform_id}
        Identity.objects.bulk_create([Identity(user_id=member.user_id, **account)], ignore_conflicts=True)
        if Identity.objects.get(community__isnull=True, **account).user_id != member.user_id:
            raise Conflict("Somebody else has this `platform_id`.")
    Identity.objects.filter(pk__in=[each.pk for each in present]).exclude(platform_id=platform_id).delete()
    return True


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


def _require_ours(member: Member) -> None:
    """Refuse to change the account of somebody who signs in, or whom others know: it would let others in."""
    user = member.user
    has_password = bool(user.password) and user.has_usable_password()
    proven = Identity.objects.filter(user_id=user.pk, proven_at__isnull=False)
    if user.is_staff or has_password or user.last_login or proven.exists():
        raise Conflict("This person signs in here: only they can change their accounts.")
    if Member.objects.filter(~Q(community_id=member.community_id), user_id=user.pk).exists():
        raise Conflict("This person is a member of another community too: their account stays.")


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
