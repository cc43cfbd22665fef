"""The streaming platform."""

from __future__ import annotations

from communities.identity_providers import api, platforms
from communities.identity_providers.failures import TokenRefused
from communities.identity_providers.profiles import Profile, clean

API = "https://api.twitch.tv/helix"


def profile(token: str) -> Profile:
    """The profile of the token's owner. Raises PlatformUnavailable, TokenRefused."""
    reply = _get("users", token)
    people = reply.content.get("data") if isinstance(reply.content, dict) else None
    if reply.status != 200 or not isinstance(people, list) or not people:
        raise api.unexpected("streaming", reply)
    platform_id = people[0].get("id")
    if not isinstance(platform_id, str) or not platform_id.isdigit():
        raise api.unexpected("streaming", reply)
    return Profile(platform_id, clean(people[0].get("display_name")) or clean(people[0].get("login")))


def follows(token: str, platform_id: str, channel_id: str) -> bool:
    """Whether a person follows a channel. Raises PlatformUnavailable, TokenRefused."""
    return _is_listed("channels/followed", token, platform_id, channel_id)


def subscribes_to(token: str, platform_id: str, channel_id: str) -> bool:
    """Whether a person subscribes to a channel. Raises PlatformUnavailable, TokenRefused."""
    return _is_listed("subscriptions/user", token, platform_id, channel_id)


def _is_listed(path: str, token: str, platform_id: str, channel_id: str) -> bool:
    reply = _get(path, token, user_id=platform_id, broadcaster_id=channel_id)
    if reply.status == 404:  # For subscriptions, the status means that there is none.
        return False
    if reply.status == 403:
        raise TokenRefused("The token does not let us see this.")
    rows = reply.content.get("data") if isinstance(reply.content, dict) else None
    if reply.status != 200 or not isinstance(rows, list):
        raise api.unexpected("streaming", reply)
    return bool(rows)


def _get(path: str, token: str, **params: str) -> api.Reply:
    headers = {"Client-Id": platforms.credentials("streaming").client_id}
    return api.get("streaming", f"{API}/{path}", token=token, params=params, headers=headers)
