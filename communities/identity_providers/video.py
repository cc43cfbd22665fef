"""The video platform."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from communities.identity_providers import api
from communities.identity_providers.failures import BadProof, TokenRefused
from communities.identity_providers.openid_connect import read_id_token
from communities.identity_providers.profiles import Profile, clean

SUBSCRIPTIONS = "https://www.googleapis.com/youtube/v3/subscriptions"
_NO_ANSWER_YET = {"quotaExceeded", "rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded"}
_NEVER_USED = "youtubeSignupRequired"
_LONGEST_ID = 128


def profile(id_token: str, *, nonce: str, at: datetime) -> Profile:
    """The profile of the ID token's owner. Raises BadProof, PlatformUnavailable."""
    claims = read_id_token(id_token, nonce=nonce, at=at)
    platform_id = claims["sub"]
    if not isinstance(platform_id, str) or not 0 < len(platform_id) <= _LONGEST_ID:
        raise BadProof("The ID token names nobody.")
    return Profile(platform_id, clean(claims.get("name")))


def subscribes_to(token: str, channel_id: str) -> bool:
    """Whether the person subscribes to a channel. Raises PlatformUnavailable, TokenRefused.

    False for an account that has never used the platform, because the platform refuses its tokens.
    """
    params = {"part": "id", "mine": "true", "forChannelId": channel_id, "maxResults": "1"}
    try:
        reply = api.get("video", SUBSCRIPTIONS, token=token, params=params)
    except TokenRefused as refusal:
        if _NEVER_USED in _reasons(refusal.content):
            return False
        raise
    reasons = _reasons(reply.content)
    if reply.status == 403 and reasons & _NO_ANSWER_YET:
        raise api.unexpected("video", reply)
    if reply.status == 403:
        raise TokenRefused("The token does not let us see subscriptions.")
    if reply.status == 404:  # The channel does not exist.
        return False
    items = reply.content.get("items") if isinstance(reply.content, dict) else None
    if reply.status != 200 or not isinstance(items, list):
        raise api.unexpected("video", reply)
    return bool(items)


def _reasons(content: Any) -> set[str]:
    error = content.get("error") if isinstance(content, dict) else None
    errors = error.get("errors") if isinstance(error, dict) else None
    return {str(each.get("reason")) for each in errors or () if isinstance(each, dict)}
