"""The rules that each platform can answer, and one call for all of them."""

from __future__ import annotations

from collections.abc import Mapping

from communities.identity_providers import chat, game_store, membership, streaming, video
from communities.identity_providers.failures import TokenRefused

RULES: Mapping[str, tuple[str, ...]] = {
    "chat": ("has_account", "in_server"),
    "video": ("has_account", "subscribes_to"),
    "streaming": ("has_account", "follows", "subscribes_to"),
    "game_store": ("has_account", "owns"),
    "membership": ("has_account", "supports", "has_tier"),
}
NEEDS_NO_TOKEN = frozenset({("game_store", "owns")})


def needs_token(provider: str, rule: str) -> bool:
    """Whether the platform answers this rule only with the person's own token."""
    return rule != "has_account" and (provider, rule) not in NEEDS_NO_TOKEN


def answer(*, rule: str, target: str, provider: str, platform_id: str, token: str | None) -> bool:
    """Whether a proven account meets a rule. Asks the platform, unless having the account is enough.

    Never call this in a transaction. Raises PlatformUnavailable if the platform cannot be asked now, and
    ValueError for a rule that the provider does not know. Raises TokenRefused if the person has to sign in
    with this provider again (also for a `token` of None).
    """
    if rule not in RULES.get(provider, ()):
        raise ValueError(f"{provider} does not know the rule {rule}.")
    if needs_token(provider, rule) and not token:
        raise TokenRefused("There is no token.")
    match provider, rule:
        case _, "has_account":
            return True
        case "chat", "in_server":
            return chat.in_server(token or "", target)
        case "video", "subscribes_to":
            return video.subscribes_to(token or "", target)
        case "streaming", "follows":
            return streaming.follows(token or "", platform_id, target)
        case "streaming", "subscribes_to":
            return streaming.subscribes_to(token or "", platform_id, target)
        case "game_store", "owns":
            return game_store.owns(platform_id, target)
        case "membership", "supports":
            return membership.supports(token or "", target)
    return membership.has_tier(token or "", target)
