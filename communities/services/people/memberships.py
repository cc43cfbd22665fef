"""Adding members by hand, and changing their access (rules 1.15 and 1.47).

An account on the chat platform that staff write down is a claim. It is valid only in their community, on a
user of its own, until the account's owner signs in with it or acts there (`identities`, rule 7.22). Whether
the account is known elsewhere changes nothing here, and nobody learns that (rule 7.30).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Lower

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, refuse
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.models import Community, Identity, Member, User
from communities.services.mail import mails
from communities.services.people import identities, invitation_access, member_changes
from communities.services.people.members import NoSuchMember, subject_of
from communities.services.trail import audit

MAX_ATTRIBUTES = 50  # of a member, from all lists together
HAS_LEFT = "This member has left the community."


@dataclass(frozen=True, slots=True)
class NewMember:
    """A person to add. `platform_id` is their account on the chat platform, if it is known."""

    nick: str
    access: str = Member.Access.MEMBER
    platform_id: str | None = None


@dataclass(frozen=True, slots=True)
class AddedMember:
    """A member, and whether this call added them."""

    member_id: int
    is_new: bool


@in_transaction
def add_members(*, actor: Actor, people: Sequence[NewMember], at: datetime) -> list[AddedMember]:
    """Add people to the actor's community, in their order; a member who has the `platform_id` already stays
    unchanged.

    No two people have the same `platform_id`.
    """
    Community.objects.select_for_update(no_key=True).get(pk=actor.community_id)
    platform_ids = {each.platform_id for each in people if each.platform_id is not None}
    user_ids = _users_of(platform_ids, community_id=actor.community_id)
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
    member_changes.announce(member_ids=[each.member_id for each in added if each.is_new], at=at)
    return added


def _users_of(platform_ids: set[str], *, community_id: int) -> Mapping[str, int]:
    """The users of this community with these accounts on the chat platform; missing users are created."""
    accounts = _accounts(community_id).filter(platform_id__in=platform_ids)
    known = set(accounts.values_list("platform_id", flat=True))
    missing = sorted(platform_ids - known)
    users = User.objects.bulk_create([User() for _ in missing])
    Identity.objects.bulk_create(
        [
            Identity(
                user=user,
                provider=Identity.Provider.CHAT,
                platform_id=platform_id,
                community_id=community_id,
            )
            for user, platform_id in zip(users, missing, strict=True)
        ],
        ignore_conflicts=True,  # The owner of the account may act in the community's chat at this moment.
    )
    found = dict(accounts.all().order_by("-community_id").values_list("platform_id", "user_id"))
    User.objects.filter(pk__in={user.pk for user in users} - set(found.values())).delete()
    return found


def _accounts(community_id: int) -> QuerySet[Identity]:
    """Return the accounts on the chat platform that this community knows: its own entries, and the accounts
    of its members.
    """
    is_member = Exists(Member.objects.filter(community_id=community_id, user=OuterRef("user")))
    return Identity.objects.filter(
        Q(community_id=community_id) | Q(is_member, community__isnull=True),
        provider=Identity.Provider.CHAT,
    )


@dataclass(frozen=True, slots=True)
class ListedPerson:
    """A person in a list that staff bring: a name or an address, and attributes by name."""

    name: str
    email: str
    attributes: Mapping[str, str]


def known_by_address(*, community_id: int, emails: Collection[str]) -> Mapping[str, int]:
    """The present members whom staff gave these addresses, in lower case; the oldest member of each.

    Addresses that people have proven themselves are left out: no list reveals whose they are (rule 7.29).
    """
    present = Member.objects.filter(community_id=community_id, left_at__isnull=True).exclude(email="")
    rows = present.annotate(lower=Lower("email")).filter(lower__in=list(emails)).order_by("-pk")
    return dict(rows.values_list("lower", "pk"))


@again_after_deadlock
@in_transaction
def add_listed(*, actor: Actor, people: Sequence[ListedPerson], at: datetime) -> tuple[int, int]:
    """Add the people of a list to the actor's community; returns the numbers of new and of changed members.

    A person whose address a present member has gets the name and the attributes of the list. Attributes that
    the list does not name stay.
    """
    Community.objects.select_for_update(no_key=True).get(pk=actor.community_id)
    emails = [each.email for each in people if each.email]
    known = known_by_address(community_id=actor.community_id, emails=emails)
    rows = Member.objects.select_for_update(no_key=True).filter(pk__in=known.values()).order_by("user_id")
    members = {member.pk: member for member in rows}
    new = [each for each in people if each.email not in known]
    added = [
        Member(
            community_id=actor.community_id,
            user=user,
            nick=each.name or None,
            email=each.email,
            attributes=dict(each.attributes),
            joined_at=at,
        )
        for user, each in zip(User.objects.bulk_create([User() for _ in new]), new, strict=True)
    ]
    Member.objects.bulk_create(added)
    for member in added:
        _note_added(member, actor=actor, at=at)
    changed = [
        members[known[each.email]]
        for each in people
        if each.email in known and _bring_up_to_date(members[known[each.email]], each, actor=actor, at=at)
    ]
    member_changes.announce(member_ids=[each.pk for each in (*added, *changed)], at=at)
    return len(added), len(changed)


def _bring_up_to_date(member: Member, person: ListedPerson, *, actor: Actor, at: datetime) -> bool:
    """Give a member the name and attributes of a list. Returns whether anything changed.

    Refuses the list if the member would have more than MAX_ATTRIBUTES.
    """
    attributes = {**member.attributes, **person.attributes}
    if len(attributes) > MAX_ATTRIBUTES:
        most = f"at most {MAX_ATTRIBUTES} are kept"
        refuse("rows", "too_many", f"{person.email} would have {len(attributes)} attributes, and {most}.")
    changed = [
        *(["nick"] if person.name and person.name != member.nick else []),
        *(["attributes"] if attributes != member.attributes else []),
    ]
    if not changed:
        return False
    member.nick, member.attributes = person.name or member.nick, attributes
    member.save(update_fields=changed)
    audit.record(
        actor=actor,
        action=Action.MEMBER_UPDATED,
        on=subject_of(community_id=member.community_id, member_id=member.pk, user_id=member.user_id),
        at=at,
        after=dict.fromkeys(changed, "changed"),
    )
    return True


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
    member_changes.announce(member_ids=[member.pk], at=at)
    return member


@again_after_deadlock
@in_transaction
def add_founder(*, actor: Actor, at: datetime) -> Member:
    """Make the user who has just created the actor's community an admin of it."""
    member = Member.objects.create(
        community_id=actor.community_id,
        user_id=actor.user_id,
        access=Member.Access.ADMIN,
        joined_at=at,
    )
    _note_added(member, actor=actor, at=at)
    return member


@again_after_deadlock
@in_transaction
def change_member(*, actor: Actor, member_id: int, changes: Mapping[str, Any], at: datetime) -> None:
    """Change the given values of a member: any of `access`, `nick` and `platform_id`.

    Raises NoSuchMember. Refuses (Conflict) as `change_access` does. Refuses a name or an account of a member
    who has left, and a `platform_id` that another member has or that the community may not change. The audit
    trail records that a name or an account changed, without the new value, because the trail outlives the
    person's erasure.
    """
    member = lock_to_change(community_id=actor.community_id, member_id=member_id, changes=changes)
    if not member.belongs and changes.keys() != {"access"}:
        raise Conflict(HAS_LEFT)
    before = member.access
    if "access" in changes:
        _change_access(member, actor=actor, access=changes["access"], at=at)
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
    if changed or member.access != before:
        member_changes.announce(member_ids=[member.pk], at=at)


def _change_account(member: Member, platform_id: str | None) -> bool:
    """Give a member another account on the chat platform, or remove the account.

    Returns whether the account was changed.
    """
    known = _accounts(member.community_id).order_by("pk")
    present = known.filter(user_id=member.user_id).first()
    if (present.platform_id if present else None) == platform_id:
        return False
    _require_ours(member)
    if known.filter(platform_id=platform_id).exists():
        raise Conflict("Another member of this community has this `platform_id`.")
    identities.leave_unproven(user_id=member.user_id, community_id=member.community_id)
    if platform_id is not None:
        Identity.objects.create(
            user_id=member.user_id,
            provider=Identity.Provider.CHAT,
            platform_id=platform_id,
            community_id=member.community_id,
        )
    return True


@again_after_deadlock
@in_transaction
def change_access(*, actor: Actor, member_id: int, access: str, at: datetime) -> Member:
    """Change the access of a member. Raises NoSuchMember.

    Refuses (Conflict) a member whose membership staff have ended, and removing the access `admin` from the
    only admin. A member who has only left the chat server returns with the access that staff set meanwhile.
    An admin's open invitations to more than `member` end with that access. So do open invitations to an
    address of the member, if they give more than the new access.
    """
    invitation_access.lock_of_member(community_id=actor.community_id, member_id=member_id)
    member = _lock(actor.community_id, member_id)
    before = member.access
    _change_access(member, actor=actor, access=access, at=at)
    if member.access != before:
        member_changes.announce(member_ids=[member.pk], at=at)
    return member


def _change_access(member: Member, *, actor: Actor, access: str, at: datetime) -> None:
    """Change the access of a locked member. Refuses (Conflict) as `change_access` does."""
    if member.removed_at:
        raise Conflict(HAS_LEFT)
    if member.access == access:
        return
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
    invitation_access.end_of_inviter(
        actor=actor, community_id=member.community_id, user_id=member.user_id, at=at
    )
    invitation_access.end_of_invited(actor=actor, member=member, user_ids={member.user_id}, at=at)


@in_transaction
def change_email(*, actor: Actor, member_id: int, email: str, at: datetime) -> Member:
    """Change the address at which staff write to a present member; an empty text removes it.

    Raises NoSuchMember. Refuses (Conflict) a member who has left, and an address that no mail can be sent to.
    The audit trail records that the address changed, without the address.
    """
    mails.require_sendable(email, field="email")
    member = _lock(actor.community_id, member_id)
    if not member.belongs:
        raise Conflict(HAS_LEFT)
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
    """Refuse to change the account of a person who signs in, or who has acted with it in this community's
    chat.
    """
    user_id = member.user_id
    if member.user.is_staff or identities.can_sign_in(user_id=user_id):
        raise Conflict("This person signs in here: only they can change their accounts.")
    if identities.has_acted(user_id=user_id):
        raise Conflict("This person has answered with their account: only they can change it.")


def is_only_admin(*members: Member) -> bool:
    """Whether the community would have no admin without these members."""
    admins = Member.objects.filter(
        community_id=members[0].community_id,
        access=Member.Access.ADMIN,
        left_at__isnull=True,
        user__is_active=True,
    )
    others = admins.exclude(pk__in=[each.pk for each in members])
    return any(each.is_admin for each in members) and not others.exists()


def lock_to_change(*, community_id: int, member_id: int, changes: Mapping[str, Any]) -> Member:
    """Lock a member and what these changes concern, in the order of locks. Raises NoSuchMember."""
    if "platform_id" in changes:
        # The owner of the account may act in the community's chat at this moment.
        if changes["platform_id"] is not None:
            identities.lock_account(Identity.Provider.CHAT, changes["platform_id"])
        identities.lock_owner_of(community_id=community_id, member_id=member_id)
    if "access" in changes:
        invitation_access.lock_of_member(community_id=community_id, member_id=member_id)
    return _lock(community_id, member_id)


def _lock(community_id: int, member_id: int) -> Member:
    """Lock the community and then a member, so that two admins cannot remove each other's access at once."""
    Community.objects.select_for_update(no_key=True).get(pk=community_id)
    rows = Member.objects.select_for_update(no_key=True).filter(community_id=community_id, pk=member_id)
    member = rows.first()
    if member is None:
        raise NoSuchMember
    return member
