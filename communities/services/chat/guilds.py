"""The server of a community, as the platform last described it: which roles and channels are its own.

One bot serves many communities. So nothing is posted or granted before the channel or role is found in the
server of the community that asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.conf import settings

from communities.chat_platform import client, permissions
from communities.models import ChatInstallation

FRESH = timedelta(minutes=1)
# The platform's kinds of channels in which messages are posted.
TEXT, ANNOUNCEMENT, THREADS = 0, 5, frozenset({10, 11, 12})
_NEEDED = (
    permissions.VIEW_CHANNEL,
    permissions.SEND_MESSAGES,
    permissions.EMBED_LINKS,
    permissions.ATTACH_FILES,
    permissions.READ_MESSAGE_HISTORY,  # to look for a message before it is sent again
)


@dataclass(frozen=True, slots=True)
class Role:
    id: str
    name: str
    position: int
    permissions: int
    is_managed: bool
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Channel:
    id: str
    name: str
    kind: int
    overwrites: Sequence[Mapping[str, Any]]
    position: int = 0


@dataclass(frozen=True)
class Guild:
    """A server. `bot_id` and `bot_role_ids` are the bot's own account and roles there."""

    id: str
    name: str
    roles: Mapping[str, Role]
    channels: Mapping[str, Channel]
    bot_id: str
    bot_role_ids: tuple[str, ...]
    at: datetime

    @cached_property
    def bot_permissions(self) -> int:
        """What the bot may do in the server as a whole."""
        return self._permissions(())

    @property
    def bot_position(self) -> int:
        """The position of the bot's highest role: it can grant those below."""
        return max((self.roles[each].position for each in self.bot_role_ids if each in self.roles), default=0)

    def grant_fault(self, role_id: str) -> str:
        """Why the bot must not or cannot grant a role, to follow “this role”; empty if it can."""
        role = self.roles.get(role_id)
        if role is None or role_id == self.id:
            return "is no role of this server that people can be given"
        if role.is_managed:
            return "belongs to an integration, which alone gives it"
        if danger := permissions.danger_of(role.permissions):
            return f"would let people {danger}, so no survey may give it"
        if role.position >= self.bot_position:
            return (
                "is above the bot’s own highest role: drag the bot’s role above it in the server’s settings"
            )
        if not self.bot_permissions & permissions.MANAGE_ROLES:
            return "cannot be given: the bot lacks the permission Manage Roles"
        return ""

    def post_fault(self, channel_id: str) -> str:
        """Why the bot cannot post in a channel, to follow “this channel”; empty if it can."""
        channel = self.channels.get(channel_id)
        if channel is None:
            return "is no channel of this server that the bot can see"
        if channel.kind not in (TEXT, ANNOUNCEMENT, *THREADS):
            return "is no text channel"
        allowed = self._permissions(channel.overwrites)
        lacking = [permissions.NAMES[bit] for bit in _NEEDED if not allowed & bit]
        return f"does not let the bot post: it lacks {', '.join(lacking)}" if lacking else ""

    def with_channel(self, channel: Channel) -> Guild:
        """The server with one more channel: threads are not listed with it."""
        return replace(self, channels={**self.channels, channel.id: channel})

    def _permissions(self, overwrites: Sequence[Mapping[str, Any]]) -> int:
        return permissions.of_member(
            guild_id=self.id,
            roles={role.id: role.permissions for role in self.roles.values()},
            role_ids=self.bot_role_ids,
            overwrites=overwrites,
            member_id=self.bot_id,
        )

    @property
    def roles_in_order(self) -> list[Role]:
        """The roles that people have, highest first."""
        own = [role for role in self.roles.values() if role.id != self.id]
        return sorted(own, key=lambda role: (-role.position, role.id))

    @property
    def text_channels(self) -> list[Channel]:
        """The channels in which people write, in the server's order."""
        text = [channel for channel in self.channels.values() if channel.kind in (TEXT, ANNOUNCEMENT)]
        return sorted(text, key=lambda channel: (channel.position, channel.id))


def stored(*, community_id: int) -> Guild | None:
    """The server as it was last described; None if the community is not connected."""
    row = ChatInstallation.objects.filter(
        community_id=community_id, status=ChatInstallation.Status.CONNECTED, snapshot__isnull=False
    ).first()
    if row is None or row.snapshot is None or row.snapshot_at is None:
        return None
    return read(row.snapshot, at=row.snapshot_at)


def refresh(*, community_id: int, at: datetime) -> Guild:
    """Ask the platform about the server, and keep what it says. Never inside a transaction.

    Raises PlatformError, also if the bot is not there.
    """
    snapshot = ask(community_id=community_id)
    ChatInstallation.objects.filter(community_id=community_id).update(snapshot=snapshot, snapshot_at=at)
    return read(snapshot, at=at)


def refresh_if_old(*, community_id: int, at: datetime) -> None:
    """Before a change that names roles or channels: ask about the server unless that was done just now.

    Never inside a transaction. If the platform cannot be asked, what it said last counts: the worker asks
    again before it posts or grants anything.
    """
    guild = stored(community_id=community_id)
    if guild is None or guild.at > at - FRESH or settings.CHAT is None:
        return
    with suppress(client.PlatformError):
        refresh(community_id=community_id, at=at)


def ask(*, community_id: int) -> dict[str, Any]:
    """The server as the platform describes it now. Raises PlatformError."""
    bot_id = settings.CHAT.application_id if settings.CHAT else ""
    guild = client.request("GET", f"/guilds/{community_id}")
    channels = client.request("GET", f"/guilds/{community_id}/channels")
    bot = client.request("GET", f"/guilds/{community_id}/members/{bot_id}")
    return {
        "id": str(guild["id"]),
        "name": str(guild.get("name") or ""),
        "icon": guild.get("icon"),
        "bot_id": bot_id,
        "bot_role_ids": [str(each) for each in bot.get("roles") or []],
        "roles": [
            {
                "id": str(each["id"]),
                "name": str(each.get("name") or ""),
                "position": int(each.get("position") or 0),
                "permissions": str(each.get("permissions") or "0"),
                "managed": bool(each.get("managed")),
                "colour": int(each.get("color") or 0),
            }
            for each in guild.get("roles") or []
        ],
        "channels": [_channel_as_json(each) for each in channels or []],
    }


def channel_of(*, community_id: int, channel_id: str) -> Channel | None:
    """A channel or thread that the platform says to belong to this server; None if it does not.

    Raises PlatformError if the platform cannot be asked.
    """
    try:
        raw = client.request("GET", f"/channels/{channel_id}")
    except client.Refused:
        return None
    if str(raw.get("guild_id")) != str(community_id):
        return None
    return _channel(_channel_as_json(raw))


def _channel_as_json(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": str(raw["id"]),
        "name": str(raw.get("name") or ""),
        "type": int(raw.get("type") or 0),
        "position": int(raw.get("position") or 0),
        "overwrites": [
            {key: str(each.get(key) or "0") for key in ("id", "allow", "deny")}
            for each in raw.get("permission_overwrites") or []
        ],
    }


def read(snapshot: Mapping[str, Any], *, at: datetime) -> Guild:
    """The server in a snapshot, which was taken at a time."""
    roles = [
        Role(
            each["id"],
            each["name"],
            each["position"],
            int(each["permissions"]),
            each["managed"],
            each["colour"],
        )
        for each in snapshot["roles"]
    ]
    channels = [_channel(each) for each in snapshot["channels"]]
    return Guild(
        id=snapshot["id"],
        name=snapshot["name"],
        roles={role.id: role for role in roles},
        channels={channel.id: channel for channel in channels},
        bot_id=snapshot["bot_id"],
        bot_role_ids=tuple(snapshot["bot_role_ids"]),
        at=at,
    )


def _channel(raw: Mapping[str, Any]) -> Channel:
    return Channel(raw["id"], raw["name"], raw["type"], raw["overwrites"], raw["position"])
