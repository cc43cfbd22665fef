"""Members as the chat platform lists them: the people in a community's server, and their roles.

In servers with our bot, the bot asks the platform; elsewhere the person's own token is used. Never call this
inside a transaction. A member who is no longer in the server has left; a member who returns is present again,
with their earlier access. People who left in another way stay away, and so does an erased member until they
sign in again or act in the server's chat. Members whom the platform never listed, such as members whom staff
added by hand, are never marked as left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db.models import Exists, OuterRef, Q, QuerySet

from communities.chat_platform import client
from communities.chat_platform.client import PlatformError, Refused
from communities.ground import queue, rounding
from communities.ground.audit_actions import Action
from communities.ground.rounding import Rounding
from communities.ground.transactions import in_transaction
from communities.identity_providers import chat
from communities.identity_providers.chat import GuildMember
from communities.identity_providers.failures import PlatformUnavailable, TokenRefused
from communities.models import ChatInstallation, Community, Identity, Member, SourceToken, User
from communities.services.people import bots, identities, invitation_access, member_changes, source_tokens
from communities.services.trail import audit

REFRESHED = timedelta(minutes=45)  # The worker asks about roles that are older than this.
AGAIN = timedelta(minutes=10)  # The worker asks about the same member again after this time.
AT_ONCE = 50
# After this time no other community is asked. With the last answer, a sign-in takes about 6 s.
SECONDS_AT_SIGN_IN = 4.0
REFRESH = "communities.refresh_members"
# Fields that the platform reports and the interface returns.
_SHOWN = ("nick", "avatar_url", "joined_at", "left_at")
_GONE = frozenset({10007, 10013})  # Codes of the platform for a member or an account that does not exist.

log = structlog.get_logger("colloquy.sources")


class _Pause:
    """The end of a pause in which this process sends no requests to the chat platform.

    Each process has its own pause.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: datetime | None = None

    def lasts(self, at: datetime) -> bool:
        with self._lock:
            return self._until is not None and at < self._until

    def begin(self, until: datetime) -> None:
        with self._lock:
            self._until = until


pause = _Pause()


def refresh(
    *, community_id: int, user_id: int, at: datetime, rounded_to: Rounding | None = None
) -> Member | None:
    """Ask the chat platform about a person in a community, and return them as a member, present or not.

    Makes the person a member if they are in the community's server for the first time. Returns the member
    unchanged if the person has proven no account of the chat platform, and None if there is no member. Asks
    nothing for a test side, which has no server.
    `rounded_to` is for questions together with anonymous responses: no time of the member shows exactly when
    they responded. Raises PlatformUnavailable, also during a pause that the platform asked for. Raises
    TokenRefused if the person has to sign in with the platform again.
    """
    is_test = Community.objects.filter(pk=community_id, test_of__isnull=False).exists()
    if is_test or not proven_accounts(community_id, user_id).exists():
        return Member.objects.filter(community_id=community_id, user_id=user_id).first()
    if pause.lasts(at):
        raise PlatformUnavailable("The platform wants to be left alone for now.")
    try:
        listed = _ask(community_id=community_id, user_id=user_id, at=at)
    except PlatformUnavailable as failure:
        if failure.retry_after is not None:
            pause.begin(at + failure.retry_after)
        raise
    asked = _Asked(community_id, user_id, at, rounded_to)
    return _note_absence(asked) if listed is None else _note_presence(listed, asked)


def note_listed(
    *,
    listed: GuildMember,
    community_id: int,
    user_id: int,
    at: datetime,
    rounded_to: Rounding | None = None,
) -> Member | None:
    """Store the platform's latest report about a person in the server of a community.

    Returns the person as a member, present or not, as `refresh` does.
    """
    return _note_presence(listed, _Asked(community_id, user_id, at, rounded_to))


def note_gone(
    *, community_id: int, user_id: int, at: datetime, rounded_to: Rounding | None = None
) -> Member | None:
    """Store that the platform does not list a person in the server of a community.

    Returns None if the person is no member.
    """
    return _note_absence(_Asked(community_id, user_id, at, rounded_to))


def refresh_at_sign_in(*, identity_id: int, user_id: int, at: datetime) -> list[int]:
    """Refresh an active person in the communities whose server they are in.

    Returns the ids of these communities. Stops after some seconds, and leaves the other communities to the
    worker. If the platform does not answer, the sign-in continues without it.
    """
    began = time.monotonic()
    refreshed: list[int] = []
    for community_id in _refreshed(identity_id=identity_id, user_id=user_id, after=0, at=at):
        refreshed.append(community_id)
        if time.monotonic() - began > SECONDS_AT_SIGN_IN:
            queue.wake(REFRESH, identity_id=identity_id, user_id=user_id, after=community_id)
            break
    return refreshed


def refresh_rest(*, identity_id: int, user_id: int, after: int, at: datetime) -> list[int]:
    """Refresh an active person in the communities with higher ids than `after`, as at sign-in.

    Returns the ids of these communities. Does nothing during a pause that the platform asked for.
    """
    if pause.lasts(at):
        return []
    return list(_refreshed(identity_id=identity_id, user_id=user_id, after=after, at=at))


def _refreshed(*, identity_id: int, user_id: int, after: int, at: datetime) -> Iterator[int]:
    """Refresh a person in each community, in the order of ids, and yield each id.

    Ends early if the platform cannot be asked.
    """
    if not User.objects.filter(pk=user_id, is_active=True).exists():
        return
    try:
        token = source_tokens.usable(identity_id=identity_id, at=at)
        ids = chat.guild_ids(token) if token else set()
        ours = Community.objects.filter(pk__in=ids, pk__gt=after).order_by("pk")
        for community_id in list(ours.values_list("pk", flat=True)):
            refresh(community_id=community_id, user_id=user_id, at=at)
            yield community_id
    except (PlatformUnavailable, TokenRefused) as failure:
        log.warning("sources.members_not_refreshed", cause=str(failure))


def refresh_old(*, at: datetime) -> int:
    """Refresh some members whose roles are old, the oldest first; returns how many members the platform
    reported.

    Stops if the platform cannot be asked, and pauses for as long as the platform says.
    """
    if pause.lasts(at):
        return 0
    refreshed = 0
    for member in _claim_old(at):
        try:
            listed = _ask(community_id=member.community_id, user_id=member.user_id, at=at)
        except TokenRefused:
            continue  # The account's token is deleted, so the worker does not ask again.
        except PlatformUnavailable as failure:
            pause.begin(at + (failure.retry_after or timedelta(minutes=1)))
            log.warning("sources.members_not_refreshed", cause=str(failure))
            break
        asked = _Asked(member.community_id, member.user_id, at)
        if listed is None:
            _note_absence(asked)
        else:
            _note_if_member(listed, asked)
        refreshed += 1
    return refreshed


@dataclass(frozen=True, slots=True)
class _Asked:
    """The person about whom the platform was asked, the time, and the rounding of the stored time."""

    community_id: int
    user_id: int
    at: datetime
    rounded_to: Rounding | None = None

    @property
    def stored_at(self) -> datetime:
        return rounding.down(self.at, self.rounded_to)


def proven_accounts(community_id: int | OuterRef, user_id: int | OuterRef) -> QuerySet[Identity]:
    """The accounts by which the platform may be asked about a person (rule 7.27).

    The person has signed in with these accounts, or has acted with them in this community's chat.
    """
    return Identity.objects.filter(
        Q(community__isnull=True) | Q(community_id=community_id),
        user_id=user_id,
        provider=Identity.Provider.CHAT,
        proven_at__isnull=False,
    )


def _ask(*, community_id: int, user_id: int, at: datetime) -> GuildMember | None:
    """The person in the server, by any of their accounts. Raises PlatformUnavailable, TokenRefused."""
    if bots.is_in_server(community_id=community_id):
        return _ask_by_bot(community_id=community_id, user_id=user_id)
    return _ask_by_token(community_id=community_id, user_id=user_id, at=at)


def _ask_by_bot(*, community_id: int, user_id: int) -> GuildMember | None:
    """The person as the bot sees them, without a token of the person. Raises PlatformUnavailable."""
    accounts = proven_accounts(community_id, user_id).order_by("pk")
    for platform_id in accounts.values_list("platform_id", flat=True):
        if not platform_id.isdigit():
            continue
        try:
            listed = client.request("GET", f"/guilds/{community_id}/members/{platform_id}")
        except Refused as refusal:
            if refusal.code in _GONE:
                continue
            raise PlatformUnavailable(refusal.message) from refusal
        except PlatformError as failure:
            raise PlatformUnavailable(failure.message, retry_after=failure.retry_after) from failure
        return chat.guild_member_of(listed, guild_id=str(community_id))
    return None


def _ask_by_token(*, community_id: int, user_id: int, at: datetime) -> GuildMember | None:
    accounts = proven_accounts(community_id, user_id).filter(community__isnull=True)
    were_asked = False
    for identity_id in accounts.order_by("-proven_at").values_list("pk", flat=True):
        token = source_tokens.usable(identity_id=identity_id, at=at)
        if token is None:
            continue
        try:
            listed = chat.guild_member(token, str(community_id))
        except TokenRefused:
            source_tokens.forget(identity_id=identity_id)
            continue
        if listed is not None:
            return listed
        were_asked = True
    if not were_asked:
        raise TokenRefused("The person has to sign in with the chat platform again.")
    return None


@in_transaction
def _claim_old(at: datetime) -> list[Member]:
    with_token = SourceToken.objects.filter(
        identity__user=OuterRef("user"), identity__provider=Identity.Provider.CHAT
    )
    with_account = proven_accounts(OuterRef("community_id"), OuterRef("user"))
    with_bot = ChatInstallation.objects.filter(
        community_id=OuterRef("community_id"), status=ChatInstallation.Status.CONNECTED
    )
    by_bot = Exists(with_bot) & Exists(with_account) if bots.is_configured() else Q(pk__in=[])
    old = Member.objects.filter(
        Q(roles_asked_at__isnull=True) | Q(roles_asked_at__lt=at - AGAIN),
        Exists(with_token) | by_bot,
        left_at__isnull=True,
        roles_told_at__lt=at - REFRESHED,
    )
    members = list(
        old.order_by("roles_told_at").select_for_update(skip_locked=True, no_key=True, of=("self",))[:AT_ONCE]
    )
    Member.objects.filter(pk__in=[each.pk for each in members]).update(roles_asked_at=at)
    return members


@in_transaction
def _note_presence(listed: GuildMember, asked: _Asked) -> Member | None:
    """Store that a person is in the server. Returns None if the user has been deleted meanwhile."""
    member = _note_if_member(listed, asked)
    if member is not None:
        return member
    if not identities.lock_owners(asked.user_id):
        return None
    member = _note_if_member(listed, asked)
    if member is not None:  # Another process was faster. The lock on the user blocks further processes.
        return member
    with member_changes.times_rounded(asked.rounded_to):
        member = Member.objects.create(
            community_id=asked.community_id,
            user_id=asked.user_id,
            nick=listed.nick or None,
            avatar_url=listed.avatar_url,
            joined_at=listed.joined_at or asked.stored_at,
            role_ids=list(listed.role_ids),
            roles_told_at=asked.stored_at,
        )
    audit.record(
        actor=None,
        action=Action.MEMBER_CREATED,
        on=audit.Subject(asked.community_id, "member", member.pk, listed.nick),
        at=asked.at,
        after={"access": member.access},
        rounded_to=asked.rounded_to,
    )
    _announce(member, asked)
    return member


@in_transaction
def _note_if_member(listed: GuildMember, asked: _Asked) -> Member | None:
    member = _lock(asked)
    if member is None or _is_newer(member, asked.at) or (member.left_at and not member.left_server):
        return member
    was = copy(member)
    member.nick, member.avatar_url = listed.nick or member.nick, listed.avatar_url
    member.role_ids, member.roles_told_at = list(listed.role_ids), _told_at(member, asked)
    fields = ["nick", "avatar_url", "role_ids", "roles_told_at"]
    if member.left_at:
        member.left_at, member.left_server = None, False
        fields += ["left_at", "left_server"]
    if member.joined_at is None and listed.joined_at:
        member.joined_at = listed.joined_at
        fields += ["joined_at"]
    _save(member, was, fields, asked)
    return member


@in_transaction
def _note_absence(asked: _Asked) -> Member | None:
    member = _lock(asked)
    if member is None or member.roles_told_at is None or _is_newer(member, asked.at):
        return member
    if member.left_at and not member.left_server:
        return member
    was = copy(member)
    member.role_ids, member.roles_told_at = [], _told_at(member, asked)
    fields = ["role_ids", "roles_told_at"]
    if member.left_at is None:
        member.left_at, member.left_server = asked.stored_at, True
        fields += ["left_at", "left_server"]
        invitation_access.end_of_inviter(
            actor=None,
            community_id=asked.community_id,
            user_id=asked.user_id,
            at=asked.at,
            rounded_to=asked.rounded_to,
        )
    _save(member, was, fields, asked)
    return member


def _save(member: Member, was: Member, fields: list[str], asked: _Asked) -> None:
    with member_changes.times_rounded(asked.rounded_to):
        member.save(update_fields=fields)
    if any(getattr(member, name) != getattr(was, name) for name in _SHOWN):
        _announce(member, asked)


def _announce(member: Member, asked: _Asked) -> None:
    """Announce a member who has changed.

    With anonymous answers the announcement waits for the end of the hour.
    """
    if asked.rounded_to is None:
        member_changes.announce(member_ids=[member.pk], at=asked.at)


def _lock(asked: _Asked) -> Member | None:
    rows = Member.objects.select_for_update(no_key=True)
    return rows.filter(community_id=asked.community_id, user_id=asked.user_id).first()


def _told_at(member: Member, asked: _Asked) -> datetime:
    """Return when the platform reported the roles. A rounded time is never earlier than the previous time."""
    return max(member.roles_told_at or asked.stored_at, asked.stored_at)


def _is_newer(member: Member, at: datetime) -> bool:
    """Whether another process has asked later than `at`."""
    return member.roles_told_at is not None and member.roles_told_at > at
