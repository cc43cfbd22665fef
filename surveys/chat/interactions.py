"""The platform's requests when somebody uses a button, a menu, a window or a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any

from communities.identity_providers.chat import GuildMember, guild_member_of
from surveys.chat.messages import EPHEMERAL


class Kind(IntEnum):
    """The platform's numbers for kinds of interactions."""

    PING = 1
    COMMAND = 2
    COMPONENT = 3
    WINDOW = 5


class Malformed(ValueError):
    """The platform's own client never sends this."""


@dataclass(frozen=True, slots=True)
class Author:
    """The person who acts, with the platform's present data about them in the server."""

    platform_id: str
    name: str
    listed: GuildMember
    is_bot: bool
    is_pending: bool
    timed_out_until: datetime | None


@dataclass(frozen=True, slots=True)
class Interaction:
    """One interaction. `values` are the choices in a menu, `fields` the typed texts by field.

    `is_in_own_message`: the interaction comes from a message that only this person sees, or from a window
    opened there, so the reply may change that message. `locale` is the language of the person's client.
    """

    id: str
    kind: Kind
    token: str
    application_id: str
    guild_id: int
    author: Author
    custom_id: str
    values: Sequence[str]
    fields: Mapping[str, str]
    command: str
    options: Mapping[str, Any]
    is_in_own_message: bool
    locale: str


def read(raw: Mapping[str, Any]) -> Interaction:
    """Read an interaction other than a ping. Unknown fields are ignored. Raises Malformed."""
    try:
        data = raw.get("data") or {}
        message = raw.get("message") or {}
        return Interaction(
            id=str(raw["id"]),
            kind=Kind(raw["type"]),
            token=str(raw["token"]),
            application_id=str(raw["application_id"]),
            guild_id=int(raw.get("guild_id") or 0),
            author=_author(raw),
            custom_id=str(data.get("custom_id") or ""),
            values=[str(value) for value in data.get("values") or []],
            fields=dict(_fields(data.get("components") or [])),
            command=str(data.get("name") or ""),
            options={str(each["name"]): each.get("value") for each in data.get("options") or []},
            is_in_own_message=bool(int(message.get("flags") or 0) & EPHEMERAL),
            locale=str(raw.get("locale") or "en-US"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise Malformed(type(fault).__name__) from fault


def _author(raw: Mapping[str, Any]) -> Author:
    member = raw.get("member") or {}
    user = member.get("user") or raw["user"]
    until = member.get("communication_disabled_until")
    return Author(
        platform_id=str(int(user["id"])),
        name=str(user.get("global_name") or user.get("username") or ""),
        listed=guild_member_of({**member, "user": user}, guild_id=str(raw.get("guild_id") or "")),
        is_bot=bool(user.get("bot")),
        is_pending=bool(member.get("pending")),
        timed_out_until=datetime.fromisoformat(until) if until else None,
    )


def _fields(parts: Sequence[Mapping[str, Any]]) -> Sequence[tuple[str, str]]:
    """The texts of a window. Labels contain the fields; older windows of the platform have rows of fields."""
    fields = []
    for part in parts:
        inner = [part["component"]] if part.get("component") else part.get("components") or []
        for field in inner:
            if "value" in field:
                fields.append((str(field["custom_id"]), str(field["value"] or "")))
    return fields
