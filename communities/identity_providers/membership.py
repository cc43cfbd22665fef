"""The membership platform, which answers in the form of JSON:API."""

from __future__ import annotations

from typing import Any

from communities.identity_providers import api
from communities.identity_providers.profiles import Profile, clean

IDENTITY = "https://www.patreon.com/api/oauth2/v2/identity"
_ACTIVE = "active_patron"


def profile(token: str) -> Profile:
    """The profile of the token's owner. Raises PlatformUnavailable, TokenRefused."""
    content = _identity(token, {"fields[user]": "full_name,vanity"})
    attributes = content["data"].get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    return Profile(
        content["data"]["id"], clean(attributes.get("full_name")) or clean(attributes.get("vanity"))
    )


def supports(token: str, campaign_id: str) -> bool:
    """Whether a person is an active patron of a campaign. Raises PlatformUnavailable, TokenRefused."""
    return any(
        each.get("attributes", {}).get("patron_status") == _ACTIVE and campaign_id in _ids(each, "campaign")
        for each in _memberships(token)
    )


def has_tier(token: str, tier_id: str) -> bool:
    """Whether a person is entitled to a tier now. Raises PlatformUnavailable, TokenRefused."""
    return any(tier_id in _ids(each, "currently_entitled_tiers") for each in _memberships(token))


def _memberships(token: str) -> list[dict[str, Any]]:
    params = {
        "include": "memberships,memberships.campaign,memberships.currently_entitled_tiers",
        "fields[member]": "patron_status",
    }
    included = _identity(token, params).get("included", [])
    return [each for each in included if isinstance(each, dict) and each.get("type") == "member"]


def _ids(member: dict[str, Any], relation: str) -> set[str]:
    """The ids of one relation: a single object, or a list."""
    data = member.get("relationships", {}).get(relation, {}).get("data")
    return {str(each.get("id")) for each in (data if isinstance(data, list) else [data]) if each}


def _identity(token: str, params: dict[str, str]) -> dict[str, Any]:
    reply = api.get("membership", IDENTITY, token=token, params=params)
    content = reply.content if isinstance(reply.content, dict) else {}
    data = content.get("data")
    if reply.status != 200 or not isinstance(data, dict) or not isinstance(data.get("id"), str):
        raise api.unexpected("membership", reply)
    return content
