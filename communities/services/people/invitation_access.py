"""Invitations that end because staff took access: from the inviter, or from the invited person.

Invitations to more than `member` are valid while the inviter is an admin. Invitations that an admin sent end
with the admin's access, with an entry in the audit trail. No place in the code can forget this: `is_allowed`
checks the inviter whenever an invitation is listed or accepted.

A decision of staff about a member ends the open invitations to an address of that person. Any account can
accept an invitation, so a check of the accepting account would be too late.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from allauth.account.models import EmailAddress
from django.db.models import Exists, OuterRef, Q, QuerySet

from communities.ground import rounding
from communities.ground.actors import Actor, Role
from communities.ground.audit_actions import Action
from communities.ground.errors import Forbidden
from communities.ground.mail_addresses import canonical
from communities.ground.rounding import Rounding
from communities.ground.transactions import in_transaction
from communities.models import Invitation, Member, User
from communities.models.invitation import VALID_FOR
from communities.services.trail import audit

# Invitations to more than `member`, with access to projects, and links, which nobody can count.
GIVES_MORE = ~Q(access=Member.Access.MEMBER) | ~Q(granted_level="") | Q(uses_left__isnull=False)


def is_allowed() -> Q:
    """Return the condition for invitations to `member` alone, and for invitations to more and links whose
    inviter is an admin of the community or a superuser.
    """
    inviter = Member.objects.filter(
        community_id=OuterRef("community_id"),
        user_id=OuterRef("created_by_id"),
        access=Member.Access.ADMIN,
        left_at__isnull=True,
    )
    is_admin = Q(Exists(inviter)) | Q(created_by__is_superuser=True)
    return ~GIVES_MORE | (is_admin & Q(created_by__is_active=True))


def keep_admin(*, actor: Actor) -> None:
    """Lock the actor's access until the transaction ends. Refuses (Forbidden) all but admins.

    The lock is needed because a request keeps the access that it read at its beginning. The caller has locked
    the community, which is locked before its members. If the actor no longer exists, the audit trail refuses
    the entry.
    """
    own = Member.objects.select_for_update(no_key=True).filter(
        community_id=actor.community_id, user_id=actor.user_id
    )
    member = own.first()
    if member is None or (member.access == Member.Access.ADMIN and member.belongs):
        return
    if not User.objects.filter(pk=actor.user_id, is_superuser=True).exists():
        raise Forbidden("Only admins invite people.")


def lock_of_member(*, community_id: int, member_id: int) -> None:
    """Lock the invitations that `end_of_inviter` and `end_of_invited` end for a member.

    The invitations are locked before the community.
    """
    member = Member.objects.filter(community_id=community_id, pk=member_id).first()
    if member is None:
        return
    waiting = _waiting(community_id)
    sent = Q(created_by=member.user_id) & GIVES_MORE
    list(_locked(waiting.filter(sent | Q(pk__in=_invited(waiting, community_id, {member.user_id})))))


@in_transaction
def end_of_inviter(
    *,
    actor: Actor | None,
    community_id: int,
    user_id: int,
    at: datetime,
    rounded_to: Rounding | None = None,
) -> None:
    """Revoke the invitations to more than `member`, and the links, whose inviter is no longer an admin of the
    community.

    Expired invitations end too, so that nobody sends them again. `rounded_to` is for changes together with
    anonymous answers: no stored time is more precise.
    """
    sent = _waiting(community_id).filter(GIVES_MORE, created_by_id=user_id)
    _end(_locked(sent), actor=actor, at=at, rounded_to=rounded_to)


@in_transaction
def end_of_invited(
    *,
    actor: Actor | None,
    member: Member,
    user_ids: Collection[int],
    at: datetime,
    sent_until: datetime | None = None,
    rounded_to: Rounding | None = None,
) -> None:
    """Revoke the invitations to an address of a member that give more than staff have decided since.

    An invitation gives too much if it gives more than the access of the member, or any access if the member
    has left. Invitations of the member themselves remain, because they never give more
    (`invitations.access_given`). `user_ids` are the accounts of the person. `sent_until` is the time of the
    decision if it is in the past.
    """
    waiting = _waiting(member.community_id).filter(Q(member__isnull=True) | ~Q(member=member))
    if sent_until is not None:
        waiting = waiting.filter(expires_at__lte=sent_until + VALID_FOR)
    if member.belongs:
        more = [str(role) for role in Role if role > Role.of(member.access)]
        waiting = waiting.filter(Q(access__in=more) | ~Q(granted_level=""))
    ids = _invited(waiting, member.community_id, user_ids)
    _end(_locked(waiting.filter(pk__in=ids)), actor=actor, at=at, rounded_to=rounded_to)


def forget_invited(*, community_id: int, user_id: int) -> None:
    """Delete the invitations to an address of a person who is erased, so that no invitation makes them a
    member again.
    """
    sent = Invitation.objects.filter(community_id=community_id)
    sent.filter(pk__in=_invited(sent, community_id, {user_id})).delete()


def _end(
    rows: QuerySet[Invitation], *, actor: Actor | None, at: datetime, rounded_to: Rounding | None
) -> None:
    for invitation in rows:
        invitation.revoked_at = rounding.down(at, rounded_to)
        invitation.save(update_fields=["revoked_at"])
        audit.record(
            actor=actor,
            action=Action.INVITATION_REVOKED,
            on=audit.Subject(invitation.community_id, "invitation", invitation.pk),
            at=at,
            after={"access": invitation.access},
            rounded_to=rounded_to,
        )


def _waiting(community_id: int) -> QuerySet[Invitation]:
    """The invitations that nobody has accepted or revoked.

    People who sign up themselves have no invitation of this kind.
    """
    return Invitation.objects.filter(
        community_id=community_id,
        revoked_at__isnull=True,
        accepted_at__isnull=True,
        accepted_by__isnull=True,
    )


def _locked(invitations: QuerySet[Invitation]) -> QuerySet[Invitation]:
    return invitations.order_by("pk").select_for_update(no_key=True, of=("self",))


def _invited(
    invitations: QuerySet[Invitation], community_id: int, user_ids: Collection[int]
) -> Sequence[int]:
    """The ids of the invitations that were sent to an address of these users: a proven address, or a
    member's.
    """
    proven = EmailAddress.objects.filter(user_id__in=user_ids, verified=True).values_list("email", flat=True)
    written = Member.objects.filter(community_id=community_id, user_id__in=user_ids).exclude(email="")
    theirs = {canonical(each) for each in (*proven, *written.values_list("email", flat=True))}
    if not theirs:
        return []
    return [pk for pk, email in invitations.values_list("pk", "email") if canonical(email) in theirs]
