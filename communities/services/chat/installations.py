"""Whether our bot is in a community's server, and whether it has the permissions that it needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from communities.chat_platform import client, commands, permissions
from communities.chat_platform.client import PlatformError, Refused
from communities.ground import queue
from communities.ground.audit_actions import Action
from communities.ground.transactions import in_transaction
from communities.models import ChatInstallation, Community
from communities.services.chat import access, guilds, notices
from communities.services.people import bots
from communities.services.tenants.settings import get_settings
from communities.services.trail import audit

CHECK = "communities.check_chat"
EVERY = timedelta(hours=1)
AT_ONCE = 20  # One run checks at most this many connections. There are four runs a minute, so 4,800 an hour.
PAGE = 200  # The platform lists this many servers in one answer.
AUTHORIZE = "https://discord.com/oauth2/authorize"
_GONE = frozenset({10004, 50001})
PROBLEMS: Mapping[str, str] = {
    "manage_roles": (
        "The bot may not manage roles, so it cannot give the roles that people earn. "
        "Allow “Manage Roles” in the settings of the bot’s role."
    ),
    "no_channel": (
        "The bot can post in no channel. Let its role view a channel, send messages and embed links there."
    ),
    "lowest_role": (
        "The bot’s role is below all others, so it can give no role. "
        "Drag it up in the server’s list of roles."
    ),
    "commands": "The slash commands could not be registered. Add the bot once more by the link below.",
}


def is_configured() -> bool:
    """Whether this installation has an application on the chat platform."""
    return bots.is_configured()


def is_connected(*, community_id: int) -> bool:
    """Whether our bot is in the server of a community, as far as we know."""
    return bots.is_in_server(community_id=community_id)


def problems_in_words(installation: ChatInstallation) -> list[str]:
    """The permissions that the bot lacks in a server, and what to do about it."""
    return [PROBLEMS.get(code, code) for code in installation.problems]


def find(*, community_id: int) -> ChatInstallation | None:
    """The connection of a community; None if it never had one."""
    return ChatInstallation.objects.filter(community_id=community_id).first()


def install_url(*, community_id: int) -> str:
    """The address at which a manager of the server adds the bot to it."""
    assert settings.CHAT is not None
    query = {
        "client_id": settings.CHAT.application_id,
        "scope": "bot applications.commands",
        "permissions": permissions.WANTED,
        "guild_id": community_id,
        "disable_guild_select": "true",
    }
    return f"{AUTHORIZE}?{urlencode(query)}"


def note_added(*, community_id: int, at: datetime) -> None:
    """Request a check of a server soon.

    The platform reports that the bot was added to the server, perhaps again. The commands are registered
    again, and refused tasks are retried. Does nothing for unknown servers.
    """
    ChatInstallation.objects.filter(community_id=community_id).update(commands="")
    access.expect(community_id=community_id)
    ask_to_check(community_id=community_id, at=at)


def ask_to_check(*, community_id: int, at: datetime) -> None:
    """Request that a worker checks the connection of a community soon. Does nothing for unknown servers."""
    if not Community.objects.filter(pk=community_id).exists():
        return
    ChatInstallation.objects.filter(community_id=community_id).update(check_at=at)
    queue.wake(CHECK, community_id=community_id)


def check(*, community_id: int, at: datetime) -> ChatInstallation | None:
    """Ask the platform whether the bot is in the server and has the permissions that it needs, and store the
    answer.

    Returns None if the bot never was in the server. Registers the commands if they have changed, and retries
    refused tasks. Never call this inside a transaction. Raises PlatformError if the platform cannot be asked.
    """
    try:
        snapshot = guilds.ask(community_id=community_id)
    except Refused as refusal:
        if refusal.code in _GONE or refusal.status in (403, 404):
            note_removed(community_id=community_id, at=at)
            return find(community_id=community_id)
        raise
    guild = guilds.read(snapshot, at=at)
    problems = _problems(guild)
    registered = _register_commands(community_id)
    if registered is None:
        problems.append("commands")
    return _note_connected(community_id, snapshot, problems, registered, at)


def check_quietly(*, community_id: int, at: datetime) -> bool:
    """Check a connection in a worker. If the platform cannot be asked now, it is checked again soon.

    Returns whether the platform could be asked.
    """
    if settings.CHAT is None:
        return False
    row = ChatInstallation.objects.filter(community_id=community_id)
    row.update(check_at=at + EVERY)
    try:
        check(community_id=community_id, at=at)
    except PlatformError as failure:
        row.update(check_at=at + max(failure.retry_after or timedelta(), timedelta(minutes=1)))
        return False
    return True


def check_due(*, at: datetime) -> int:
    """Check a batch of connections that are due, the longest due first. Returns the number of connections.

    Each connection is claimed separately, so that two runs at a time check different servers.
    """
    if settings.CHAT is None:
        return 0
    for count in range(AT_ONCE):
        community_id = _claim_due(at)
        if community_id is None:
            return count
        if not check_quietly(community_id=community_id, at=at):
            return count + 1  # The platform is down, or asks for a pause.
    return AT_ONCE


@in_transaction
def _claim_due(at: datetime) -> int | None:
    """A community whose connection is due, and that no other run takes."""
    due = ChatInstallation.objects.filter(check_at__lte=at).order_by("check_at")
    row = due.select_for_update(skip_locked=True).only("community_id").first()
    if row is None:
        return None
    ChatInstallation.objects.filter(pk=row.pk).update(check_at=at + EVERY)
    return int(row.community_id)


def reconcile(*, at: datetime) -> int:
    """Compare the servers that the bot is in with the connected communities, and check the differences.

    This finds servers to which the bot was added, or from which it was removed, without a report of the
    platform. Returns the number of communities to check. Raises PlatformError.
    """
    if settings.CHAT is None:
        return 0
    present = _guild_ids()
    connected = set(
        ChatInstallation.objects.filter(status=ChatInstallation.Status.CONNECTED).values_list(
            "community_id", flat=True
        )
    )
    new = Community.objects.filter(pk__in=present - connected).values_list("pk", flat=True)
    differ = [*(connected - present), *new]
    for community_id in differ:
        ask_to_check(community_id=community_id, at=at)
    return len(differ)


def reconcile_quietly(*, at: datetime) -> None:
    """Run `reconcile` in a worker.

    If the platform cannot be asked now, the run of the next day is early enough.
    """
    with suppress(PlatformError):
        reconcile(at=at)


def _guild_ids() -> set[int]:
    """The servers that the bot is in."""
    ids: set[int] = set()
    while True:
        query = urlencode({"limit": PAGE, "after": max(ids, default=0)})
        page = [int(each["id"]) for each in client.request("GET", f"/users/@me/guilds?{query}")]
        ids.update(page)
        if len(page) < PAGE:
            return ids


@in_transaction
def note_removed(*, community_id: int, at: datetime) -> None:
    """Record that the bot is no longer in the server. Admins get a mail, and an entry in the history."""
    row = ChatInstallation.objects.select_for_update().filter(community_id=community_id).first()
    if row is None or row.status == ChatInstallation.Status.REMOVED:
        return
    row.status, row.removed_at, row.checked_at, row.problems = ChatInstallation.Status.REMOVED, at, at, []
    row.commands, row.check_at = "", at + EVERY
    row.save()
    _record(Action.CHAT_REMOVED, community_id, at)
    notices.tell_of_removal(community_id=community_id, at=at)


@in_transaction
def _note_connected(
    community_id: int, snapshot: dict[str, Any], problems: list[str], registered: str | None, at: datetime
) -> ChatInstallation:
    # The lock ensures that only one check writes at a time.
    Community.objects.select_for_update(no_key=True).get(pk=community_id)
    row = ChatInstallation.objects.select_for_update().filter(community_id=community_id).first()
    is_new = row is None or row.status != ChatInstallation.Status.CONNECTED
    row = row or ChatInstallation(community_id=community_id)
    row.status, row.snapshot, row.snapshot_at = ChatInstallation.Status.CONNECTED, snapshot, at
    row.problems, row.checked_at, row.removed_at = problems, at, None
    row.commands = registered or ""
    if is_new:
        row.connected_at = at
        access.expect(community_id=community_id)
    row.check_at = min(at + EVERY, access.unblock(community_id=community_id, at=at) or at + EVERY)
    row.save()
    if is_new:
        _record(Action.CHAT_CONNECTED, community_id, at)
    return row


def _problems(guild: guilds.Guild) -> list[str]:
    problems = []
    if not guild.bot_permissions & permissions.MANAGE_ROLES:
        problems.append("manage_roles")
    elif all(role.position >= guild.bot_position for role in guild.roles_in_order if not role.is_managed):
        problems.append("lowest_role")
    if not any(not guild.post_fault(channel.id) for channel in guild.text_channels):
        problems.append("no_channel")
    return problems


def _register_commands(community_id: int) -> str | None:
    """Register the slash commands if they have changed; returns their fingerprint, or None if that failed."""
    has_leaderboard = get_settings(community_id=community_id).has_leaderboard
    wanted = commands.of(has_leaderboard=has_leaderboard)
    fingerprint = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    row = find(community_id=community_id)
    if row is not None and row.commands == fingerprint and row.status == ChatInstallation.Status.CONNECTED:
        return fingerprint
    assert settings.CHAT is not None
    path = f"/applications/{settings.CHAT.application_id}/guilds/{community_id}/commands"
    try:
        client.request("PUT", path, json=wanted)
    except Refused:
        return None
    return fingerprint


def _record(action: Action, community_id: int, at: datetime) -> None:
    name = Community.objects.values_list("name", flat=True).get(pk=community_id)
    audit.record(
        actor=None, action=action, on=audit.Subject(community_id, "community", community_id, name), at=at
    )
