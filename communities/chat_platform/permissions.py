"""Permissions in a server of the chat platform: bits, and the effect of overwrites in a channel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

ADMINISTRATOR = 1 << 3
VIEW_CHANNEL, SEND_MESSAGES, EMBED_LINKS, ATTACH_FILES = 1 << 10, 1 << 11, 1 << 14, 1 << 15
READ_MESSAGE_HISTORY, USE_EXTERNAL_EMOJIS, MANAGE_ROLES = 1 << 16, 1 << 18, 1 << 28
MANAGE_THREADS, SEND_IN_THREADS = 1 << 34, 1 << 38
EVERYTHING = (1 << 60) - 1
# The permissions that the bot requests when it is added to a server. The bot needs all of them, and no
# others.
WANTED = (
    VIEW_CHANNEL
    | SEND_MESSAGES
    | EMBED_LINKS
    | ATTACH_FILES
    | READ_MESSAGE_HISTORY
    | USE_EXTERNAL_EMOJIS
    | MANAGE_ROLES
    | SEND_IN_THREADS
)
# A role with one of these permissions would make a respondent powerful.
DANGEROUS: Mapping[int, str] = {
    ADMINISTRATOR: "administrate the server",
    1 << 1: "kick members",
    1 << 2: "ban members",
    1 << 4: "manage channels",
    1 << 5: "manage the server",
    1 << 7: "read the audit log",
    1 << 13: "manage messages",
    1 << 17: "mention everyone",
    1 << 27: "manage nicknames",
    1 << 28: "manage roles",
    1 << 29: "manage webhooks",
    1 << 30: "manage emoji",
    1 << 33: "manage events",
    MANAGE_THREADS: "manage threads",
    1 << 40: "time members out",
}
NAMES: Mapping[int, str] = {
    VIEW_CHANNEL: "View Channel",
    SEND_MESSAGES: "Send Messages",
    EMBED_LINKS: "Embed Links",
    ATTACH_FILES: "Attach Files",
    READ_MESSAGE_HISTORY: "Read Message History",
    SEND_IN_THREADS: "Send Messages in Threads",
    MANAGE_ROLES: "Manage Roles",
}


def of_member(
    *,
    guild_id: str,
    roles: Mapping[str, int],
    role_ids: Collection[str],
    overwrites: Sequence[Mapping[str, Any]],
    member_id: str,
) -> int:
    """The permissions of a member in a channel. `roles` are the permissions of the server's roles by id.

    The order is: everybody's permissions and those of the member's roles; then the channel's overwrites for
    everybody, for roles, and for the member. Administrators may do everything.
    """
    allowed = roles.get(guild_id, 0)
    for role_id in role_ids:
        allowed |= roles.get(role_id, 0)
    if allowed & ADMINISTRATOR:
        return EVERYTHING
    by_id = {str(each["id"]): each for each in overwrites}
    allowed = _overwritten(allowed, [by_id[guild_id]] if guild_id in by_id else [])
    allowed = _overwritten(allowed, [by_id[each] for each in role_ids if each in by_id and each != guild_id])
    return _overwritten(allowed, [by_id[member_id]] if member_id in by_id else [])


def danger_of(permissions: int) -> str:
    """Return the dangerous permissions of a role, in words; an empty text for a harmless role."""
    return next((words for bit, words in DANGEROUS.items() if permissions & bit), "")


def _overwritten(allowed: int, overwrites: Sequence[Mapping[str, Any]]) -> int:
    denied = granted = 0
    for each in overwrites:
        denied |= int(each.get("deny") or 0)
        granted |= int(each.get("allow") or 0)
    return allowed & ~denied | granted
