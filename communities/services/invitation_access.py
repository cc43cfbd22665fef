"""Invitations to more than `member`: they hold while the person who sent them is an admin.

Others could no longer invite so. What an admin sent ends with their access, in the audit trail. Nothing that
ends it can be forgotten: `is_allowed` looks at the inviter whenever an invitation is listed or accepted.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from communities import rounding
from communities.actors import Actor
from communities.audit_actions import Action
from communities.errors import Forbidden
from communities.models import Invitation, Member, User
from communities.rounding import Rounding
from communities.services import audit
from communities.transactions import in_transaction


def is_allowed() -> Q:
    """The invitations to `member`, and those to more whose inviter is an admin there, or a superuser."""
    inviter = Member.objects.filter(
        community_id=OuterRef("community_id"),
        user_id=OuterRef("created_by_id"),
        access=Member.Access.ADMIN,
        left_at__isnull=True,
    )
    is_admin = Q(Exists(inviter)) | Q(created_by__is_superuser=True)
    return Q(access=Member.Access.MEMBER) | (is_admin & Q(created_by__is_active=True))


def keep_admin(*, actor: Actor) -> None:
    """Keep the actor's access from changing until the transaction ends. Refuses (Forbidden) all but admins.

    A request keeps the access that it read at its beginning. The caller has locked the community, which comes
    before its members. Of somebody who has gone, the audit trail refuses the entry.
    """
    own = Member.objects.select_for_update(no_key=True).filter(
        community_id=actor.community_id, user_id=actor.user_id
    )
    member = own.first()
    if member is None or (member.access == Member.Access.ADMIN and member.belongs):
        return
    if not User.objects.filter(pk=actor.user_id, is_superuser=True).exists():
        raise Forbidden("Only admins invite people.")


def lock_of_inviter(*, community_id: int, member_id: int) -> None:
    """Lock the invitations that `end_of_inviter` ends for a member. They come before the community."""
    user_ids = Member.objects.filter(community_id=community_id, pk=member_id).values("user_id")
    list(_to_more(community_id).filter(created_by__in=user_ids))


@in_transaction
def end_of_inviter(
    *,
    actor: Actor | None,
    community_id: int,
    user_id: int,
    at: datetime,
    rounded_to: Rounding | None = None,
) -> None:
    """Take back the invitations to more than `member` that somebody sent who is no longer an admin there.

    Those that have run out end too, so that nobody sends them again. `rounded_to` is for what happens beside
    anonymous answers: no stored time is finer.
    """
    for invitation in _to_more(community_id).filter(created_by_id=user_id):
        invitation.revoked_at = rounding.down(at, rounded_to)
        invitation.save(update_fields=["revoked_at"])
        audit.record(
            actor=actor,
            action=Action.INVITATION_REVOKED,
            on=audit.Subject(community_id, "invitation", invitation.pk),
            at=at,
            after={"access": invitation.access},
            rounded_to=rounded_to,
        )


def _to_more(community_id: int) -> QuerySet[Invitation]:
    waiting = Invitation.objects.filter(
        community_id=community_id, revoked_at__isnull=True, accepted_at__isnull=True
    )
    to_more = waiting.exclude(access=Member.Access.MEMBER)
    return to_more.order_by("pk").select_for_update(no_key=True, of=("self",))
