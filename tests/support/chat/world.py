"""The platform's data: one server with roles, channels, people and messages, and our application."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nacl.signing import SigningKey

BOT_TOKEN = "loopback.bot.token"
APPLICATION_ID = "900000000000000001"
CLIENT_SECRET = "loopback-secret"
GUILD_ID = "100000000000000001"
EPOCH = 1_420_070_400_000
TEXT, VOICE, ANNOUNCEMENT, PUBLIC_THREAD, FORUM = 0, 2, 5, 11, 15
THREAD_TYPES = (10, 11, 12)
ADMINISTRATOR, VIEW, SEND, EMBED, ATTACH = 1 << 3, 1 << 10, 1 << 11, 1 << 14, 1 << 15
HISTORY, EMOJI, MANAGE_ROLES, THREADS = 1 << 16, 1 << 18, 1 << 28, 1 << 38
MANAGE_THREADS = 1 << 34
BOTS = VIEW | SEND | EMBED | ATTACH | HISTORY | EMOJI | MANAGE_ROLES | THREADS


@dataclass
class Role:
    id: str
    name: str
    position: int = 0
    permissions: int = 0
    managed: bool = False
    color: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "position": self.position,
            "permissions": str(self.permissions),
            "managed": self.managed,
            "color": self.color,
            "hoist": False,
            "mentionable": False,
            "flags": 0,
        }


@dataclass
class Channel:
    id: str
    name: str
    guild_id: str
    type: int = TEXT
    overwrites: list[dict[str, Any]] = field(default_factory=list)
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    parent: Channel | None = None  # of a thread, which has no overwrites of its own
    is_archived: bool = False
    is_locked: bool = False

    @property
    def is_thread(self) -> bool:
        return self.type in THREAD_TYPES

    def as_json(self) -> dict[str, Any]:
        common = {"id": self.id, "name": self.name, "guild_id": self.guild_id, "type": self.type, "flags": 0}
        if not self.is_thread:
            return {**common, "position": 0, "permission_overwrites": self.overwrites}
        metadata = {
            "archived": self.is_archived,
            "archive_timestamp": "2026-06-01T12:00:00.000000+00:00",
            "auto_archive_duration": 4320,
            "locked": self.is_locked,
        }
        return {
            **common,
            "parent_id": self.parent.id if self.parent else None,
            "owner_id": APPLICATION_ID,
            "thread_metadata": metadata,
            "message_count": len(self.messages),
            "member_count": 1,
            "total_message_sent": len(self.messages),
        }


@dataclass
class Person:
    """Somebody in the server, or the bot."""

    id: str
    name: str
    roles: list[str] = field(default_factory=list)
    nick: str | None = None
    avatar: str | None = None
    is_bot: bool = False
    pending: bool = False
    timed_out_until: str | None = None

    def user_as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "username": self.name.lower().replace(" ", "."),
            "global_name": self.name,
            "avatar": self.avatar,
            "discriminator": "0",
            "public_flags": 0,
            "bot": self.is_bot,
        }

    def as_json(self) -> dict[str, Any]:
        return {
            "user": self.user_as_json(),
            "roles": list(self.roles),
            "nick": self.nick,
            "avatar": None,
            "joined_at": "2026-01-02T03:04:05.000000+00:00",
            "premium_since": None,
            "deaf": False,
            "mute": False,
            "flags": 0,
            "pending": self.pending,
            "communication_disabled_until": self.timed_out_until,
        }


@dataclass
class Token:
    """An interaction's token, and the message that it may change."""

    person_id: str
    expires_at: float
    message: dict[str, Any] | None = None


class World:
    """The platform's state. `clock` returns seconds; tests can let time pass."""

    def __init__(self, *, guild_id: str = GUILD_ID, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.key = SigningKey.generate()
        self.guild_id, self.guild_name = guild_id, "Chess Club"
        self._numbers = itertools.count(1)
        self.roles = {guild_id: Role(guild_id, "@everyone", 0, VIEW | SEND | HISTORY)}
        self.channels: dict[str, Channel] = {}
        self.people: dict[str, Person] = {}
        self.commands: list[dict[str, Any]] = []
        self.tokens: dict[str, Token] = {}
        self.grants: list[tuple[str, str, str]] = []  # person, role, reason
        self.bot_role = self.add_role("Colloquy", position=50, permissions=BOTS, managed=True)
        self.bot = self.add_person("Colloquy", is_bot=True, id=APPLICATION_ID, roles=[self.bot_role.id])
        self.has_bot = True

    @property
    def public_key(self) -> str:
        return self.key.verify_key.encode().hex()

    def new_id(self) -> str:
        """A snowflake: the time in milliseconds, and a number."""
        return str((int(self.clock() * 1000) - EPOCH << 22) + next(self._numbers))

    def add_role(self, name: str, **fields: Any) -> Role:
        role = Role(self.new_id(), name, **{"position": len(self.roles), **fields})
        self.roles[role.id] = role
        return role

    def add_channel(self, name: str, *, guild_id: str | None = None, **fields: Any) -> Channel:
        channel = Channel(self.new_id(), name, guild_id or self.guild_id, **fields)
        self.channels[channel.id] = channel
        return channel

    def add_thread(self, name: str, *, parent: Channel, **fields: Any) -> Channel:
        """A thread of a text channel, or a post of a forum."""
        return self.add_channel(name, **{"type": PUBLIC_THREAD, "parent": parent, **fields})

    def add_person(self, name: str, *, id: str = "", **fields: Any) -> Person:
        person = Person(id or self.new_id(), name, **fields)
        self.people[person.id] = person
        return person

    def permissions_of(self, person: Person, channel: Channel | None = None) -> int:
        allowed = self.roles[self.guild_id].permissions
        for role_id in person.roles:
            allowed |= self.roles[role_id].permissions if role_id in self.roles else 0
        if allowed & ADMINISTRATOR:
            return (1 << 60) - 1
        if channel is None:
            return allowed
        layers: list[list[str]] = [[self.guild_id], person.roles, [person.id]]
        for ids in layers:
            own = [each for each in (channel.parent or channel).overwrites if each["id"] in ids]
            deny = allow = 0
            for each in own:
                deny, allow = deny | int(each["deny"]), allow | int(each["allow"])
            allowed = allowed & ~deny | allow
        return allowed

    def top_position(self, person: Person) -> int:
        return max((self.roles[each].position for each in person.roles if each in self.roles), default=0)

    def stored(self, raw: dict[str, Any], *, channel_id: str, flags: int = 0) -> dict[str, Any]:
        """A message as the platform stores it, with the ids that it assigns to components."""
        message: dict[str, Any] = {
            "id": self.new_id(),
            "channel_id": channel_id,
            "author": self.bot.user_as_json(),
            "timestamp": "2026-06-01T12:00:00.000000+00:00",
            "edited_timestamp": None,
            "type": 0,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "pinned": False,
            "attachments": [],
            "flags": flags,
            "posted_at": self.clock(),
        }
        return self.changed(message, raw)

    def changed(self, message: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
        message["content"] = raw.get("content", message.get("content", ""))
        message["embeds"] = [
            {**each, "type": "rich"} for each in raw.get("embeds", message.get("embeds", []))
        ]
        rows = raw.get("components", message.get("components", []))
        numbers = itertools.count(1)
        message["components"] = [
            {
                **row,
                "id": next(numbers),
                "components": [{**part, "id": next(numbers)} for part in row["components"]],
            }
            for row in rows
        ]
        return message
