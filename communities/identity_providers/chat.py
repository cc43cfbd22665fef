"""The chat platform: the profile of a person, their servers, and their roles there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.identity_providers import api
from communities.identity_providers.failures import TokenRefused
from communities.identity_providers.profiles import Profile, clean

API = "https://discord.com/api/v10"
PICTURES = "https://cdn.discordapp.com"
_PAGE = 200  # The number of servers on a page of the platform. Few accounts may be in more.
_MAX_PAGES = 5


@dataclass(frozen=True, slots=True)
class GuildMember:
    """A person in one server. `role_ids` does not contain @everyone, which all members have."""

    role_ids: tuple[str, ...]
    nick: str
    avatar_url: str | None
    joined_at: datetime | None


def profile(token: str) -> Profile:
    """The profile of the token's owner. Raises PlatformUnavailable, TokenRefused."""
    reply = api.get("chat", f"{API}/users/@me", token=token)
    content = reply.content if isinstance(reply.content, dict) else {}
    platform_id = content.get("id")
    if reply.status != 200 or not isinstance(platform_id, str) or not platform_id.isdigit():
        raise api.unexpected("chat", reply)
    return Profile(platform_id, clean(content.get("global_name")) or clean(content.get("username")))


def guild_ids(token: str) -> set[int]:
    """The ids of the servers that the person is in. Raises PlatformUnavailable, TokenRefused."""
    found: set[int] = set()
    after = "0"
    for _ in range(_MAX_PAGES):
        params = {"limit": str(_PAGE), "after": after}
        reply = api.get("chat", f"{API}/users/@me/guilds", token=token, params=params)
        if reply.status == 403:
            raise TokenRefused("The token does not let us see servers.")
        if reply.status != 200 or not isinstance(reply.content, list):
            raise api.unexpected("chat", reply)
        ids = [int(each["id"]) for each in reply.content if str(each.get("id", "")).isdigit()]
        found.update(ids)
        if len(reply.content) < _PAGE or not ids:
            break
        after = str(max(ids))
    return found


def guild_member(token: str, guild_id: str) -> GuildMember | None:
    """The person in a server; None if they are not in it. Raises PlatformUnavailable, TokenRefused."""
    if not guild_id.isdigit():
        return None
    reply = api.get("chat", f"{API}/users/@me/guilds/{guild_id}/member", token=token)
    if reply.status == 404:
        return None
    if reply.status == 403:
        raise TokenRefused("The token does not let us see memberships.")
    if reply.status != 200 or not isinstance(reply.content, dict):
        raise api.unexpected("chat", reply)
    return guild_member_of(reply.content, guild_id=guild_id)


def guild_member_of(content: Mapping[str, Any], *, guild_id: str) -> GuildMember:
    """A member from the platform's description, which is the same in its API and in interactions."""
    user = content.get("user")
    user = user if isinstance(user, dict) else {}
    roles = content.get("roles")
    return GuildMember(
        role_ids=tuple(str(each) for each in roles if str(each).isdigit()) if isinstance(roles, list) else (),
        nick=clean(content.get("nick")) or clean(user.get("global_name")) or clean(user.get("username")),
        avatar_url=_picture(guild_id, user.get("id"), content.get("avatar"), user.get("avatar")),
        joined_at=_moment(content.get("joined_at")),
    )


def in_server(token: str, guild_id: str) -> bool:
    """Whether the person is in a server. Raises PlatformUnavailable, TokenRefused."""
    return guild_member(token, guild_id) is not None


def _picture(guild_id: str, user_id: Any, in_guild: Any, of_user: Any) -> str | None:
    if not str(user_id).isdigit():
        return None
    if isinstance(in_guild, str) and in_guild.replace("_", "").isalnum():
        return f"{PICTURES}/guilds/{guild_id}/users/{user_id}/avatars/{in_guild}.png"
    if isinstance(of_user, str) and of_user.replace("_", "").isalnum():
        return f"{PICTURES}/avatars/{user_id}/{of_user}.png"
    return None


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
