"""Invitations by mail and by link, and joining a community that lets anybody sign up.

invite(actor=…, email=…)            an admin invites an address; the mail has the only copy of the token
invite_all(actor=…, emails=…)       the same for several, all or none
make_link(actor=…, uses=…)          a link for so many people, which the admin hands out
ask_by_link(token=…, email=…)       a holder of a link has the invitation sent to their address
join_by_link(token=…, user=…)       a holder who is signed in becomes a member
accept(token=…, user=…)             the reader becomes a member, exactly once
take(token=…), admit(…)             the same in two steps: between them, an account is made or merged for it
join(community_id=…, user=…)        somebody who is signed in joins an open community
await_confirmation, admit_confirmed the same for a new account, once its address is confirmed
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.account.models import EmailAddress
from django.db.models import Q, QuerySet
from django.utils import timezone

from communities.ground.actors import ALL_PROJECTS, Actor, Level, Role
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, Forbidden, NotFound, refuse
from communities.ground.mail_addresses import keyed_hash
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.models import AuditEntry, Community, Invitation, Mail, Member, User
from communities.models.invitation import VALID_FOR
from communities.services.inviting import access_decisions, invitation_letters
from communities.services.mail import mail_sums, mails, recipients
from communities.services.people import identities, invitation_access, member_changes, project_grants
from communities.services.people.members import NoSuchMember, subject_of
from communities.services.trail import audit

KEPT_FOR = timedelta(days=30)  # Invitations are kept for this time after they have ended.
MAX_USES = 200  # A link is for at most this many people.
MAX_OPEN = 1_000  # One community has at most this many open invitations.
MAX_MAILS = 200  # One community may write this many mails in PERIOD, because they are sent to strangers.
MAX_MAILS_OF_LINK = (
    20  # One link may have this many mails written in PERIOD, because its holders type addresses.
)
PERIOD = timedelta(days=1)
now = timezone.now


class NoSuchInvitation(NotFound):
    def __init__(self) -> None:
        super().__init__("This invitation does not exist.")


class InvitationOver(Conflict):
    """The invitation was accepted, revoked, or is too old."""

    def __init__(self) -> None:
        super().__init__("This invitation was used, was taken back, or is too old.")


# --- Inviting -----------------------------------------------------------------------------------------


@in_transaction
def invite(
    *,
    actor: Actor,
    email: str,
    access: str,
    at: datetime,
    name: str = "",
    member_id: int | None = None,
) -> Invitation:
    """Invite an address to the actor's community; an earlier open invitation of the address ends.

    `member_id` is a member without an account; the reader of the mail is this member. Raises NoSuchMember.
    Refuses all but admins, and access above their own (Forbidden). Refuses (Conflict) members who have an
    account, and an address that wants no mail or that no mail can be sent to. Refuses (Conflict) more than
    MAX_MAILS in PERIOD, and more mails to unconfirmed addresses than the community may write in a day.
    """
    (invitation,) = _invite(actor, [email], access, at=at, name=name, member_id=member_id)
    return invitation


@dataclass(frozen=True, slots=True)
class Grant:
    """An access to a project of the community, or to all of them, which an invitation gives besides.

    The caller has checked that the project is the community's.
    """

    level: Level
    project_id: int | None = None

    def columns(self) -> dict[str, Any]:
        """The columns of the invitation."""
        return {"granted_level": str(self.level), "granted_project_id": self.project_id}


@in_transaction
def invite_all(
    *,
    actor: Actor,
    emails: Sequence[str],
    access: str,
    at: datetime,
    name: str = "",
    grant: Grant | None = None,
) -> list[Invitation]:
    """Invite several addresses, all or none; `name` may be given for a single address.

    Refuses as `invite` does.
    """
    name = name if len(emails) == 1 else ""
    return _invite(actor, emails, access, at=at, name=name, member_id=None, grant=grant)


@in_transaction
def make_link(*, actor: Actor, uses: int, at: datetime, grant: Grant | None = None) -> tuple[Invitation, str]:
    """Make a link by which this many people may become members, and return it with its token.

    Refuses all but admins (Forbidden), and more open invitations than MAX_OPEN (Conflict).
    """
    _require_admin(actor, Member.Access.MEMBER)
    if not 1 <= uses <= MAX_USES:
        refuse("uses", "invalid", f"A link is for 1 to {MAX_USES} people.")
    _lock_community(actor.community_id)
    invitation_access.keep_admin(actor=actor)
    if open_invitations(community_id=actor.community_id, at=at).count() >= MAX_OPEN:
        raise Conflict(f"At most {MAX_OPEN:,} invitations can be open at one time.")
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        community_id=actor.community_id,
        uses_left=uses,
        digest=_digest(token),
        created_by_id=actor.user_id,
        created_at=at,
        expires_at=at + VALID_FOR,
        **(grant.columns() if grant else {}),
    )
    _record(Action.MEMBER_INVITED, actor, invitation, at=at)
    return invitation, token


def _invite(
    actor: Actor,
    emails: Sequence[str],
    access: str,
    *,
    at: datetime,
    name: str,
    member_id: int | None,
    grant: Grant | None = None,
) -> list[Invitation]:
    _require_admin(actor, access)
    for each in emails:
        mails.require_sendable(each, field="email")
    emails = [each.strip().lower() for each in emails]
    opened = open_invitations(community_id=actor.community_id, at=at)
    earlier = opened.filter(email__in=emails)
    # Earlier invitations are locked before the community, in the same order as when an invitation is
    # accepted.
    list(earlier.order_by("pk").select_for_update(no_key=True, of=("self",)))
    community = Community.objects.select_for_update(no_key=True).get(pk=actor.community_id)
    invitation_access.keep_admin(actor=actor)
    member = None if member_id is None else _member_without_account(community.pk, member_id)
    earlier.update(revoked_at=at)
    _require_mails_left(community.pk, emails, at)
    if opened.count() + len(emails) > MAX_OPEN:
        raise Conflict(f"At most {MAX_OPEN:,} invitations can be open at one time.")
    return [
        _invite_one(actor, community, each, access, at=at, name=name, member=member, grant=grant)
        for each in emails
    ]


def _invite_one(
    actor: Actor,
    community: Community,
    email: str,
    access: str,
    *,
    at: datetime,
    name: str,
    member: Member | None,
    grant: Grant | None,
    link_id: int | None = None,
) -> Invitation:
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        community=community,
        member=member,
        email=email,
        name=name,
        access=member.access if member else access,
        digest=_digest(token),
        created_by_id=actor.user_id,
        created_at=at,
        expires_at=at + VALID_FOR,
        **(grant.columns() if grant else {}),
    )
    invitation_letters.send(invitation, token=token, at=at)
    _record(Action.MEMBER_INVITED, actor, invitation, at=at, link_id=link_id)
    return invitation


@in_transaction
def send_again(*, actor: Actor, invitation_id: int, at: datetime) -> Invitation:
    """Send an open invitation again, with a new link and 14 more days.

    Raises NoSuchInvitation. Raises InvitationOver, also for an invitation to more than `member` whose inviter
    is no longer an admin. Refuses (Conflict) an address that wants no mails, and more mails than `invite`
    allows.
    """
    invitation = _locked_of(actor, invitation_id)
    allowed = Invitation.objects.filter(invitation_access.is_allowed(), pk=invitation.pk)
    is_link = invitation.uses_left is not None
    if is_link or invitation.revoked_at or invitation.accepted_at or not allowed.exists():
        raise InvitationOver
    _lock_community(invitation.community_id)
    _require_mails_left(invitation.community_id, [invitation.email], at)
    token = secrets.token_urlsafe(32)
    if invitation.member is not None:
        invitation.access = access_given(invitation, invitation.member)
    invitation.digest, invitation.expires_at = _digest(token), at + VALID_FOR
    invitation.save(update_fields=["access", "digest", "expires_at"])
    invitation_letters.send(invitation, token=token, at=at)
    _record(Action.INVITATION_SENT_AGAIN, actor, invitation, at=at)
    return invitation


@in_transaction
def revoke(*, actor: Actor, invitation_id: int, at: datetime) -> Invitation:
    """Revoke an invitation, so that its link no longer works. Raises NoSuchInvitation, InvitationOver."""
    invitation = _locked_of(actor, invitation_id)
    if invitation.accepted_at:
        raise InvitationOver
    if invitation.revoked_at is None:
        invitation.revoked_at = at
        invitation.save(update_fields=["revoked_at"])
        _record(Action.INVITATION_REVOKED, actor, invitation, at=at)
    return invitation


def forget_old(*, at: datetime) -> None:
    """Delete the invitations that were accepted or revoked, or expired, a month ago."""
    since = at - KEPT_FOR
    over = Q(accepted_at__lt=since) | Q(revoked_at__lt=since) | Q(expires_at__lt=since)
    Invitation.objects.filter(over).delete()


def open_invitations(*, community_id: int, at: datetime) -> QuerySet[Invitation]:
    """The invitations of a community that can still be accepted, newest first."""
    rows = Invitation.objects.filter(
        invitation_access.is_allowed(),
        community_id=community_id,
        revoked_at__isnull=True,
        accepted_at__isnull=True,
        accepted_by__isnull=True,  # People who signed up themselves confirm in another way.
        expires_at__gt=at,
    ).exclude(uses_left=0)
    return rows.select_related("created_by", "member").order_by("-id")


def may_be_invited(member: Member) -> bool:
    """Whether a member has no account yet: neither a way to sign in, nor an account with which they act in
    the chat.

    The member must not be known in another community either, because the admins of one community would then
    give away what belongs to the other.
    """
    user = member.user
    if not member.belongs or user.is_staff or user.is_superuser or not user.is_active:
        return False
    if identities.can_sign_in(user_id=user.pk) or identities.has_acted(user_id=user.pk):
        return False
    return not Member.objects.filter(user=user).exclude(pk=member.pk).exists()


# --- Accepting ----------------------------------------------------------------------------------------


def find(*, token: str, at: datetime) -> Invitation:
    """Return the open invitation of a token. Raises NoSuchInvitation, InvitationOver."""
    rows = Invitation.objects.filter(digest=_digest(token)).select_related(
        "community", "created_by", "member__user"
    )
    return _usable(rows.first(), at)


@in_transaction
def take(*, token: str, at: datetime, user: User | None = None) -> Invitation:
    """Accept the open invitation of a token for a user, or for a user that the caller creates; `admit`
    follows.

    Nobody gets anything before `admit`. The database refuses a known member who has an account (a trigger),
    and the locked user gets no account until the transaction ends. Raises NoSuchInvitation and
    InvitationOver. Refuses (Conflict) an invitation for a known member who has since found another way to
    sign in, because a reader of the mail must not get access to the member's account. Refuses (Forbidden) if
    staff have removed the user, or a member who has the address, since the invitation was sent.
    """
    rows = Invitation.objects.filter(digest=_digest(token), uses_left__isnull=True)
    known_id = rows.values_list("member__user_id", flat=True).first()
    both = (known_id, user.pk if user else None)
    identities.lock_owners(*(each for each in both if each is not None))
    invitation = _usable(rows.select_for_update(no_key=True).first(), at)
    if _removed_since(invitation, user):
        raise Forbidden("You were removed from this community after you were invited. Ask its team again.")
    member = invitation.member
    is_theirs = member is None or (user is not None and member.user_id == user.pk)
    is_same = (
        member is not None and member.user_id == known_id
    )  # Otherwise a merge has given the member another user.
    if member is not None and not is_theirs and not (is_same and may_be_invited(member)):
        raise Conflict("This invitation is for somebody who has an account by now. They can sign in with it.")
    invitation.accepted_at, invitation.accepted_by = at, user
    invitation.save(update_fields=["accepted_at", "accepted_by"])
    return invitation


@in_transaction
def admit(invitation: Invitation, *, user: User, at: datetime) -> Member:
    """Make a user a member, or give a present member the access of the invitation.

    If staff changed a member's access after the invitation was sent, the member gets no more than the changed
    access (`access_given`). The caller has taken the invitation. Refuses (Conflict) an invitation of a known
    member for any other user: the member's answers and XP belong to the account that is made from the
    invitation.
    """
    invitation.refresh_from_db(fields=["member"])
    if invitation.member is not None and invitation.member.user_id != user.pk:
        raise Conflict(
            "This invitation is for a member whom the community knows already: first make that member's "
            "answers and XP yours."
        )
    invitation.accepted_by = user
    invitation.save(update_fields=["accepted_by"])
    _lock_community(invitation.community_id)
    member = Member.objects.filter(community_id=invitation.community_id, user=user).first()
    access = invitation.access if member is None else access_given(invitation, member)
    admitted = _admit(user, invitation.community_id, access=access, at=at, invited_at=invitation.sent_at)
    _give_grant(invitation, admitted, known=member, at=at)
    return admitted


def _give_grant(invitation: Invitation, member: Member, *, known: Member | None, at: datetime) -> None:
    """Give a person who joined the access to projects that their invitation gives.

    Staff may have decided about a `known` member since the invitation was sent; then it gives nothing.
    """
    if not invitation.granted_level or member.is_admin:
        return
    project_id, level = invitation.granted_project_id, Level.of(invitation.granted_level)
    since = invitation.sent_at
    if known is not None:
        changed_at = access_decisions.decisions_about(known).changed_at
        has_changed = changed_at is not None and changed_at > since
        if has_changed or project_grants.was_changed(member, project_id=project_id, since=since):
            return
    if project_grants.of_member(member).get(project_id or ALL_PROJECTS, Level.NONE) >= level:
        return
    actor = Actor(member.user_id, member.access, member.community_id, member.community.tier)
    with suppress(
        Conflict
    ):  # There may be too many people with access by now; the person joins all the same.
        project_grants.give(member, project_id=project_id, level=level, actor=actor, at=at)


def access_given(invitation: Invitation, member: Member) -> str:
    """The access that an invitation gives to a member whom the community already knows.

    The access is no more than the member's own in two cases. Either the invitation is for this member, who
    had the access when invited. Or staff have changed the member's access since the invitation was sent.
    """
    changed_at = access_decisions.decisions_about(member).changed_at
    has_changed = changed_at is not None and changed_at > invitation.sent_at
    is_decided = invitation.member_id == member.pk or has_changed
    return min(invitation.access, member.access, key=Role.of) if is_decided else invitation.access


@again_after_deadlock
@in_transaction
def accept(*, token: str, user: User, at: datetime) -> Member:
    """Make a user a member, as `take` and `admit` do together. Refuses as they do."""
    return admit(take(token=token, at=at, user=user), user=user, at=at)


@again_after_deadlock
@in_transaction
def ask_by_link(*, token: str, email: str, at: datetime) -> None:
    """Have the invitation of a link sent to an address, whose reader proves it as with any invitation.

    An address that was invited before keeps that invitation, and gets no other mail. An address that refuses
    the community's mails gets no mail. For the caller the two look like any other address (rule 1.87).
    Raises NoSuchInvitation and InvitationOver. Refuses (Conflict) if no mail can be sent now.
    """
    mails.require_sendable(email, field="email")
    link, email = _locked_link(token, at), email.strip().lower()
    community = Community.objects.select_for_update(no_key=True).get(pk=link.community_id)
    _require_mails_of_link(link, at)  # before the address is read, so that limits reveal nothing
    if _sent_lately(community.pk, at) >= MAX_MAILS or not mail_sums.left(community_id=community.pk, at=at):
        raise Conflict("No mail can be sent now. Ask the team of the community.")
    hashes = [keyed_hash(email, community_id=community.pk)]
    if open_invitations(community_id=community.pk, at=at).filter(
        email=email
    ).exists() or recipients.refused_hashes(community_id=community.pk, hashes=hashes):
        return
    mail_sums.take(community_id=community.pk, wanted=1, at=at)
    _use(link)
    inviter = Actor(link.created_by_id or 0, "admin", community.pk, community.tier)
    grant = Grant(Level.of(link.granted_level), link.granted_project_id) if link.granted_level else None
    _invite_one(
        inviter, community, email, link.access, at=at, name="", member=None, grant=grant, link_id=link.pk
    )


@again_after_deadlock
@in_transaction
def join_by_link(*, token: str, user: User, at: datetime) -> Member:
    """Make a user who is signed in a member by a link. A present member gets no other role, and a member who
    has left gets none back.

    Raises NoSuchInvitation and InvitationOver. Refuses (Forbidden) a user whom the community removed.
    """
    identities.lock_owners(user.pk)
    link = _locked_link(token, at)
    if _was_removed(user, link.community_id):
        raise Forbidden("You were removed from this community. Ask its team to invite you.")
    _lock_community(link.community_id)
    known = Member.objects.filter(community_id=link.community_id, user=user).first()
    access = known.access if known and known.belongs else link.access
    member = _admit(user, link.community_id, access=access, at=at, invited_at=link.sent_at)
    _give_grant(link, member, known=known, at=at)
    _use(link)
    return member


def _locked_link(token: str, at: datetime) -> Invitation:
    rows = Invitation.objects.filter(digest=_digest(token), uses_left__isnull=False)
    return _usable(rows.select_for_update(no_key=True).first(), at)


def _use(link: Invitation) -> None:
    assert link.uses_left
    link.uses_left -= 1
    link.save(update_fields=["uses_left"])


# --- Communities that let anybody sign up -------------------------------------------------------------


def open_community(*, community_id: int) -> Community | None:
    """A community that lets anybody sign up; None for others."""
    return Community.objects.filter(pk=community_id, settings__allow_sign_up=True, test_of=None).first()


@again_after_deadlock
@in_transaction
def join(*, community_id: int, user: User, at: datetime) -> Member:
    """Make a user a member of an open community.

    Refuses other communities, and a user whom this community removed (Forbidden).
    """
    if open_community(community_id=community_id) is None:
        raise Forbidden("This community is joined by invitation.")
    identities.lock_owners(user.pk)
    if _was_removed(user, community_id):
        raise Forbidden("You were removed from this community. Ask its team to invite you.")
    return _admit(user, community_id, access=Member.Access.MEMBER, at=at)


@in_transaction
def await_confirmation(*, community_id: int, user: User, email: str, at: datetime) -> None:
    """Store which community a person signs up to, until their address is confirmed."""
    Invitation.objects.create(
        community_id=community_id,
        email=email.lower(),
        digest=_digest(secrets.token_urlsafe(32)),
        created_at=at,
        expires_at=at + VALID_FOR,
        accepted_by=user,
    )


@again_after_deadlock
@in_transaction
def admit_confirmed(*, user: User, email: str, at: datetime) -> None:
    """Make a person who signed up with this address a member, if the community is still open."""
    identities.lock_owners(user.pk)
    waiting = Invitation.objects.select_for_update(no_key=True).filter(
        accepted_by=user, accepted_at__isnull=True, email=email.lower(), expires_at__gt=at
    )
    for invitation in waiting:
        is_open = open_community(community_id=invitation.community_id) is not None
        if is_open and not _was_removed(user, invitation.community_id):
            _admit(user, invitation.community_id, access=Member.Access.MEMBER, at=at)
        invitation.accepted_at = at
        invitation.save(update_fields=["accepted_at"])


# --- Parts --------------------------------------------------------------------------------------------


def _was_removed(user: User, community_id: int) -> bool:
    return _removed(community_id).filter(user=user).exists()


def _removed_since(invitation: Invitation, user: User | None) -> bool:
    """Whether staff have removed this user, or a member with the address, since the invitation was sent."""
    since = _removed(invitation.community_id).filter(left_at__gt=invitation.sent_at)
    proven = EmailAddress.objects.filter(email__iexact=invitation.email, verified=True).values("user")
    theirs = Q(user=user) | Q(user__in=proven) | Q(email__iexact=invitation.email)
    return since.filter(theirs).exists()


def _removed(community_id: int) -> QuerySet[Member]:
    """The members whom staff removed.

    Removals by the platform are marked in another way, and people erase their own memberships.
    """
    return Member.objects.filter(community_id=community_id, left_at__isnull=False, left_server=False)


def _lock_community(community_id: int) -> None:
    Community.objects.select_for_update(no_key=True).get(pk=community_id)


def _admit(
    user: User, community_id: int, *, access: str, at: datetime, invited_at: datetime | None = None
) -> Member:
    _lock_community(community_id)
    member = Member.objects.filter(community_id=community_id, user=user).first()
    before: dict[str, object] | None = None
    if member is None:
        member = Member.objects.create(community_id=community_id, user=user, access=access, joined_at=at)
    else:
        before = {"access": member.access, "present": member.belongs}
        if not member.belongs or Role.of(access) > Role.of(member.access):
            member.access = access
        member.left_at, member.left_server = None, False
        member.save(update_fields=["access", "left_at", "left_server"])
    community = member.community
    invited = {} if invited_at is None else {access_decisions.INVITED_AT: invited_at}
    audit.record(
        actor=Actor(user.pk, member.access, community_id, community.tier),
        action=Action.MEMBER_JOINED,
        on=subject_of(community_id=community_id, member_id=member.pk, user_id=user.pk),
        at=at,
        before=before,
        after={"access": member.access, "present": True, **invited},
    )
    member_changes.announce(member_ids=[member.pk], at=at)
    return member


def _require_admin(actor: Actor, access: str) -> None:
    if not actor.is_admin:
        raise Forbidden("Only admins invite people.")
    if Role.of(access) > Role.of(actor.role):
        raise Forbidden("Nobody invites others to more than they may do themselves.")


def _require_mails_left(community_id: int, emails: Sequence[str], at: datetime) -> None:
    """Count these mails of a community, which the caller has locked.

    Refuses (Conflict) too many mails, and addresses that want no mails of the community.
    """
    hashes = {keyed_hash(each, community_id=community_id): each for each in emails}
    refused = recipients.refused_hashes(community_id=community_id, hashes=hashes)
    if refused:
        named = ", ".join(each for hashed, each in hashes.items() if hashed in refused)
        raise Conflict(f"Mails of this community were refused by: {named}. Nobody was invited.")
    if _sent_lately(community_id, at) + len(emails) > MAX_MAILS:
        raise Conflict(
            f"A community can send {MAX_MAILS} invitations a day. Please send the others tomorrow."
        )
    mail_sums.take(community_id=community_id, wanted=len(emails), at=at)


def _sent_lately(community_id: int, at: datetime) -> int:
    """The number of invitations that a community has sent in the last PERIOD."""
    letters = Mail.objects.filter(community_id=community_id, kind=invitation_letters.KIND)
    return letters.filter(created_at__gt=at - PERIOD).count()


def _require_mails_of_link(link: Invitation, at: datetime) -> None:
    """Refuse (Conflict) more mails of a link in PERIOD than MAX_MAILS_OF_LINK. The link is locked."""
    sent = AuditEntry.objects.filter(
        community_id=link.community_id,
        action=Action.MEMBER_INVITED,
        happened_at__gt=at - PERIOD,
        after__link_id=str(link.pk),
    )
    if sent.count() >= MAX_MAILS_OF_LINK:
        raise Conflict(
            "This link has had many mails sent today. Sign in to join by it, or come back tomorrow."
        )


def _member_without_account(community_id: int, member_id: int) -> Member:
    member = Member.objects.select_related("user").filter(community_id=community_id, pk=member_id).first()
    if member is None:
        raise NoSuchMember
    if not may_be_invited(member):
        raise Conflict("This member has an account already, or has left.")
    return member


def _locked_of(actor: Actor, invitation_id: int) -> Invitation:
    _require_admin(actor, Member.Access.MEMBER)
    own = Invitation.objects.select_for_update(no_key=True, of=("self",)).select_related("community")
    invitation = own.filter(community_id=actor.community_id, pk=invitation_id).first()
    is_sign_up = (
        invitation is not None and invitation.accepted_by_id is not None and invitation.accepted_at is None
    )
    if invitation is None or is_sign_up:
        raise NoSuchInvitation
    return invitation


def _usable(invitation: Invitation | None, at: datetime) -> Invitation:
    if invitation is None:
        raise NoSuchInvitation
    still_open = open_invitations(community_id=invitation.community_id, at=at)
    if not still_open.filter(pk=invitation.pk).exists():
        raise InvitationOver
    return invitation


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _record(
    action: Action, actor: Actor, invitation: Invitation, *, at: datetime, link_id: int | None = None
) -> None:
    """Write an entry that contains neither the token nor the address, because people may be erased."""
    audit.record(
        actor=actor,
        action=action,
        on=audit.Subject(actor.community_id, "invitation", invitation.pk, ""),
        at=at,
        after={
            "access": invitation.access,
            **({"level": invitation.granted_level} if invitation.granted_level else {}),
            **({"uses": invitation.uses_left} if invitation.uses_left is not None else {}),
            **({"link_id": str(link_id)} if link_id is not None else {}),
        },
    )
