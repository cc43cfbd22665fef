"""The server of a community, as the platform last described it: its roles and channels.

One bot serves many communities. So the bot posts or grants only after the channel or role was found in the
server of the requesting community.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils.functional import cached_property

from communities.chat_platform import client, pacing, permissions
from communities.ground.statements import by_id
from communities.ground.transactions import in_transaction
from communities.models import ChatInstallation

FRESH = timedelta(minutes=1)
AGAIN = timedelta(seconds=10)  # The platform is asked again about a problem after this time.
# The platform's kinds of channels in which messages are posted.
TEXT, ANNOUNCEMENT, THREADS = 0, 5, frozenset({10, 11, 12})
FORUMS = frozenset({15, 16})  # The posts of these channels are threads.
_NEEDED = (
    permissions.VIEW_CHANNEL,
    permissions.EMBED_LINKS,
    permissions.ATTACH_FILES,
    # The permission serves to search for a message before it is sent again.
    permissions.READ_MESSAGE_HISTORY,
)
LOOKED_UP_AGAIN = timedelta(seconds=30)  # A channel is looked up again after this time.
LOOK_UPS = 5  # One community may cause this many look-ups in a minute, because its callers may send any ids.
MOST_LOOKED_UP = 50  # For one community, at most this many looked-up channels are stored, the newest.


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
    parent_id: str = ""  # Only threads have a parent here.
    is_locked: bool = False

    @property
    def is_thread(self) -> bool:
        return self.kind in THREADS


@dataclass(frozen=True)
class Guild:
    """A server. `bot_id` and `bot_role_ids` are the bot's own account and roles there.

    `channels` are all channels, and the threads that were looked up. `no_channels` are ids that were looked
    up without finding a channel of this server that the bot can see.
    """

    id: str
    name: str
    roles: Mapping[str, Role]
    channels: Mapping[str, Channel]
    bot_id: str
    bot_role_ids: tuple[str, ...]
    at: datetime
    no_channels: frozenset[str] = frozenset()

    @cached_property
    def bot_permissions(self) -> int:
        """The bot's permissions in the server as a whole."""
        return self._permissions(())

    @property
    def bot_position(self) -> int:
        """The position of the bot's highest role: the bot can grant only lower roles."""
        return max((self.roles[each].position for each in self.bot_role_ids if each in self.roles), default=0)

    def grant_fault(self, role_id: str) -> str:
        """Return why the bot must not or cannot grant a role, in words that follow “this role”; empty if it
        can.
        """
        return self.unfit_to_grant(role_id) or self.grant_lack(role_id)

    def unfit_to_grant(self, role_id: str) -> str:
        """Return why no bot may grant a role; empty if a bot may."""
        role = self.roles.get(role_id)
        if role is None or role_id == self.id:
            return "is no role of this server that people can be given"
        if role.is_managed:
            return "belongs to an integration, which alone gives it"
        if danger := permissions.danger_of(role.permissions):
            return f"would let people {danger}, so no survey may give it"
        return ""

    def grant_lack(self, role_id: str) -> str:
        """The reason why our bot cannot grant a role of the server; empty if it can."""
        if self.roles[role_id].position >= self.bot_position:
            return (
                "is above the bot’s own highest role: drag the bot’s role above it in the server’s settings"
            )
        if not self.bot_permissions & permissions.MANAGE_ROLES:
            return "cannot be given: the bot lacks the permission Manage Roles"
        return ""

    def post_fault(self, channel_id: str) -> str:
        """Return why the bot cannot post in a channel, in words that follow “this channel”; empty
        if it can.
        """
        channel = self.channels.get(channel_id)
        if channel is None:
            return "is no channel of this server that the bot can see"
        if channel.kind in FORUMS:
            return "is a forum: write a post there, and name that post"
        if channel.kind not in (TEXT, ANNOUNCEMENT, *THREADS):
            return "is no text channel"
        place = self.channels.get(channel.parent_id) if channel.is_thread else channel
        if place is None:
            return "is a thread of a channel that the bot cannot see"
        send = permissions.SEND_IN_THREADS if channel.is_thread else permissions.SEND_MESSAGES
        allowed = self._permissions(place.overwrites)
        lacking = [permissions.NAMES[bit] for bit in (send, *_NEEDED) if not allowed & bit]
        if lacking:
            return f"does not let the bot post: it lacks {', '.join(lacking)}"
        if channel.is_locked and not allowed & permissions.MANAGE_THREADS:
            return "is a locked thread: unlock it, or let the bot manage threads"
        return ""

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
        """Return the roles that members have, the highest first."""
        own = [role for role in self.roles.values() if role.id != self.id]
        return sorted(own, key=lambda role: (-role.position, role.id))

    @property
    def text_channels(self) -> list[Channel]:
        """The channels in which people write, in the server's order."""
        text = [channel for channel in self.channels.values() if channel.kind in (TEXT, ANNOUNCEMENT)]
        return sorted(text, key=lambda channel: (channel.position, channel.id))


def stored(*, community_id: int) -> Guild | None:
    """The server as the platform last described it; None if the community is not connected."""
    row = by_id(ChatInstallation, community_id)
    if row is None or row.status != ChatInstallation.Status.CONNECTED:
        return None
    if row.snapshot is None or row.snapshot_at is None:
        return None
    return read(row.snapshot, at=row.snapshot_at, looked_up=row.looked_up)


def refresh(*, community_id: int, at: datetime) -> Guild:
    """Ask the platform about the server, and store the description. Never call this inside a transaction.

    Raises PlatformError, also if the bot is not in the server.
    """
    snapshot = ask(community_id=community_id)
    row = ChatInstallation.objects.filter(community_id=community_id)
    row.update(snapshot=snapshot, snapshot_at=at)
    return read(snapshot, at=at, looked_up=row.values_list("looked_up", flat=True).first() or {})


def current(*, community_id: int, at: datetime, fault_of: Callable[[Guild], str]) -> Guild | None:
    """Return the current server, before a worker posts or grants anything; None if the community is not
    connected.

    Asks the platform if the description is old, or if it shows a problem and is not fresh. Never call this
    inside a transaction. Raises PlatformError.
    """
    guild = stored(community_id=community_id)
    if guild is None:
        return None
    if guild.at < at - FRESH or (guild.at < at - AGAIN and fault_of(guild)):
        return refresh(community_id=community_id, at=at)
    return guild


def look(
    *, community_id: int, at: datetime, role_ids: Collection[str] = (), channel_ids: Collection[str] = ()
) -> None:
    """Ask about the server and unknown channels, before a change that names roles or channels.

    The server is read once in a minute, and once more if it lacks one of the roles, because the role may be
    new. Unknown channels are looked up one by one. A community has at most LOOK_UPS such questions in a
    minute, whatever ids its callers send. Never call this inside a transaction. If the platform cannot be
    asked, its last description applies: the worker asks again before it posts or grants anything.
    """
    guild = stored(community_id=community_id) if settings.CHAT else None
    if guild is None:
        return
    with suppress(client.PlatformError):
        if guild.at <= at - FRESH or _is_new_role(guild, role_ids):
            refresh(community_id=community_id, at=at)
        for channel_id in channel_ids:
            _look_up_if_needed(community_id, channel_id, at)


def _is_new_role(guild: Guild, role_ids: Collection[str]) -> bool:
    """Whether a role is missing in the stored description of the server, and a new request is allowed now."""
    return any(each not in guild.roles for each in role_ids) and _may_look_up(guild.id)


def _look_up_if_needed(community_id: int, channel_id: str, at: datetime) -> None:
    row = ChatInstallation.objects.filter(community_id=community_id).values("snapshot", "looked_up").get()
    if any(each["id"] == channel_id for each in (row["snapshot"] or {}).get("channels", ())):
        return
    kept = row["looked_up"].get(channel_id)
    if kept and datetime.fromisoformat(kept["at"]) > at - LOOKED_UP_AGAIN:
        return
    if _may_look_up(str(community_id)):
        look_up(community_id=community_id, channel_id=channel_id, at=at)


def _may_look_up(community_id: str) -> bool:
    return pacing.take(f"look-ups:{community_id}", LOOK_UPS, timedelta(minutes=1))


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


def look_up(*, community_id: int, channel_id: str, at: datetime) -> Channel | None:
    """Ask for one channel or thread, and store the answer; None if it is not in this server.

    Never call this inside a transaction. Raises PlatformError if the platform cannot be asked.
    """
    try:
        raw = client.request("GET", f"/channels/{channel_id}")
    except client.Refused:
        raw = {}
    kept = None
    if str(raw.get("guild_id")) == str(community_id):
        kept = {
            **_channel_as_json(raw),
            "parent_id": str(raw.get("parent_id") or ""),
            "is_locked": bool((raw.get("thread_metadata") or {}).get("locked")),
        }
    _keep(community_id, channel_id, {"at": at.isoformat(), "channel": kept})
    return _channel(kept) if kept else None


@in_transaction
def _keep(community_id: int, channel_id: str, found: Mapping[str, Any]) -> None:
    row = ChatInstallation.objects.select_for_update().filter(community_id=community_id).first()
    if row is None:
        return
    others = {key: value for key, value in row.looked_up.items() if key != channel_id}
    newest = sorted(others.items(), key=lambda item: item[1]["at"], reverse=True)[: MOST_LOOKED_UP - 1]
    row.looked_up = {channel_id: found, **dict(newest)}
    row.save(update_fields=["looked_up"])


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


def read(snapshot: Mapping[str, Any], *, at: datetime, looked_up: Mapping[str, Any] | None = None) -> Guild:
    """The server from a stored snapshot, with the time of the snapshot and the channels that were looked
    up.
    """
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
    found = {channel_id: each["channel"] for channel_id, each in (looked_up or {}).items()}
    channels = [_channel(each) for each in (*filter(None, found.values()), *snapshot["channels"])]
    return Guild(
        id=snapshot["id"],
        name=snapshot["name"],
        roles={role.id: role for role in roles},
        channels={channel.id: channel for channel in channels},
        bot_id=snapshot["bot_id"],
        bot_role_ids=tuple(snapshot["bot_role_ids"]),
        at=at,
        no_channels=frozenset(channel_id for channel_id, each in found.items() if each is None),
    )


def _channel(raw: Mapping[str, Any]) -> Channel:
    """A channel in its stored form. Channels that the platform lists with the server are no threads."""
    return Channel(
        raw["id"],
        raw["name"],
        raw["type"],
        raw["overwrites"],
        raw["position"],
        raw.get("parent_id", ""),
        raw.get("is_locked", False),
    )
