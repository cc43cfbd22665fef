"""Grants the roles that members earned on the chat platform, through the outbox.

Times of roles from anonymous projects are rounded to the day. Each minute a random part of the waiting roles
is taken, so that neither our rows nor the platform's log show when a person answered.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, time

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from communities.chat_platform import client
from communities.chat_platform.client import Refused
from communities.ground import rounding
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.ground.ids import id_of
from communities.ground.rounding import Rounding
from communities.ground.transactions import in_transaction
from communities.models import ChatInstallation, ChatTask
from communities.services.chat import guilds, installations, outbox, overview
from communities.services.chat.outbox import Abandoned, Blocked
from communities.services.people import platform_members
from communities.services.trail import audit
from xp.models import RoleGrant
from xp.services import roles

GRANT = "xp.grant_role"
AT_ONCE = 200
SHARE = 1 / 20  # In each minute, one run takes this part of the waiting roles of anonymous projects.
_GONE = frozenset({10007, 10013})
_UNKNOWN_ROLE = 10011
_LACKS_PERMISSION = 50013


def _names_of(subjects: Collection[str]) -> Mapping[str, str]:
    """Return the names of the roles that tasks are about. Members are left out, because the page of roles
    shows them.
    """
    found = RoleGrant.objects.filter(pk__in=filter(None, map(id_of, subjects)))
    grants = {str(grant.pk): grant for grant in found}
    communities = {grant.community_id for grant in grants.values()}
    servers = {each: guilds.stored(community_id=each) for each in communities}
    names = {}
    for subject, grant in grants.items():
        guild = servers[grant.community_id]
        role = guild.roles.get(grant.role_id) if guild else None
        names[subject] = role.name if role else grant.role_id
    return names


overview.describe(GRANT, "Role that somebody earned", _names_of)


@in_transaction
def put_waiting(*, at: datetime) -> int:
    """Put the waiting roles into the outbox, for members whose community is connected (rule 8.14).

    Returns the number of roles. Roles that are in the outbox already do not change. Roles of people who had
    left the server are requested again once the platform lists them there.
    """
    waiting = _waiting()
    of_a_day = Q(created_at__time=time(0, tzinfo=UTC))
    grants = list(waiting.exclude(of_a_day).order_by("pk")[:AT_ONCE])
    anonymous = waiting.filter(of_a_day).order_by("pk")[: AT_ONCE * 10]
    grants += [grant for grant in anonymous if random.random() < SHARE]
    random.shuffle(grants)  # The order of the tasks must not be the order of the answers.
    for grant in grants:
        outbox.put(community_id=grant.community_id, kind=GRANT, subject=str(grant.pk), at=at)
    RoleGrant.objects.filter(pk__in=[grant.pk for grant in grants]).update(is_asked_for=True, skipped_at=None)
    return len(grants)


def _waiting() -> QuerySet[RoleGrant]:
    connected = ChatInstallation.objects.filter(
        community_id=OuterRef("community_id"), status=ChatInstallation.Status.CONNECTED
    )
    account = platform_members.proven_accounts(OuterRef("community_id"), OuterRef("member__user"))
    is_back = Q(skipped_at__isnull=True) | Q(member__roles_told_at__gt=F("skipped_at"))
    return RoleGrant.objects.filter(
        is_back,
        Exists(connected),
        Exists(account),
        carried_out_at__isnull=True,
        is_asked_for=False,
        member__left_at__isnull=True,
    ).select_for_update(skip_locked=True, of=("self",))


def carry_out(task: ChatTask, at: datetime) -> None:
    """Grant one role. Raises PlatformError, Abandoned or Blocked with the reason."""
    grant = RoleGrant.objects.select_related("member").filter(pk=int(task.subject)).first()
    if grant is None or grant.carried_out_at is not None:
        return
    accounts = platform_members.proven_accounts(grant.community_id, grant.member.user_id)
    ids = list(accounts.order_by("pk").values_list("platform_id", flat=True))
    if not ids:  # The account was disconnected meanwhile.
        RoleGrant.objects.filter(pk=grant.pk).update(is_asked_for=False)
    elif grant.member.left_at is not None or not any(_grant(grant, each, at) for each in ids):
        _skip(grant, at)
    else:
        stored_at = rounding.down(at, _rounding_of(grant))
        RoleGrant.objects.filter(pk=grant.pk).update(carried_out_at=stored_at, refusal="")


def _grant(grant: RoleGrant, platform_id: str, at: datetime) -> bool:
    """Grant a role that is still harmless and below the bot's own role.

    Returns False if this account is not in the server.
    """
    role_id = grant.role_id
    guild = guilds.current(
        community_id=grant.community_id, at=at, fault_of=lambda guild: guild.grant_fault(role_id)
    )
    if guild is None:
        raise Blocked("The bot is not in the server.")
    if fault := guild.unfit_to_grant(role_id):
        raise Abandoned(f"This role {fault}.")
    if lack := guild.grant_lack(role_id):
        raise Blocked(f"This role {lack}.")
    path = f"/guilds/{grant.community_id}/members/{platform_id}/roles/{role_id}"
    reason = f"Earned in {grant.project_name}" if grant.project_name else "Earned"
    try:
        client.request("PUT", path, reason=reason)
    except Refused as refusal:
        if refusal.code in _GONE:
            return False
        if refusal.code == _UNKNOWN_ROLE:
            raise Abandoned("The role is gone.") from None
        if refusal.code == _LACKS_PERMISSION:
            words = "The role is above the bot’s own, or the bot lacks Manage Roles."
            raise Blocked(words) from None
        raise
    return True


def _skip(grant: RoleGrant, at: datetime) -> None:
    """Skip a person who has left the server, until they return."""
    platform_members.note_gone(
        community_id=grant.community_id,
        user_id=grant.member.user_id,
        at=at,
        rounded_to=_rounding_of(grant),
    )
    skipped_at = rounding.up(at, _rounding_of(grant))
    RoleGrant.objects.filter(pk=grant.pk).update(is_asked_for=False, skipped_at=skipped_at, refusal="")


def give_up(task: ChatTask, reason: str) -> None:
    """Store the reason why a role cannot be granted, for the community's admins."""
    RoleGrant.objects.filter(pk=int(task.subject)).update(refusal=reason[:300])


@in_transaction
def try_again(*, actor: Actor, grant_id: int, at: datetime) -> None:
    """Request a role of the actor's community again that was not granted yet.

    Refuses a role that was granted, and any role while the community is not connected.
    """
    grant = RoleGrant.objects.select_for_update().filter(pk=grant_id, community_id=actor.community_id).first()
    if grant is None:
        raise NotFound("There is no such role to grant.")
    if grant.carried_out_at is not None:
        raise Conflict("This role was granted already.")
    if not installations.is_connected(community_id=actor.community_id):
        raise Conflict("The community is not connected with the chat platform.")
    RoleGrant.objects.filter(pk=grant.pk).update(is_asked_for=True, skipped_at=None, refusal="")
    outbox.put(community_id=grant.community_id, kind=GRANT, subject=str(grant.pk), at=at)
    audit.record(
        actor=actor,
        action=Action.CHAT_TRIED_AGAIN,
        on=audit.Subject(actor.community_id, "role_grant", grant.pk),
        at=at,
    )


def _rounding_of(grant: RoleGrant) -> Rounding | None:
    return Rounding.DAY if roles.is_of_a_day(grant.created_at) else None
