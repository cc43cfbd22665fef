"""The addresses of the platforms, and the requested permissions.

BASE_URL of a provider replaces scheme and host of all its addresses; the paths stay the same
(config/README.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings

from communities.identity_providers import ProviderCredentials


@dataclass(frozen=True, slots=True)
class OAuth2:
    """A platform's OAuth 2. `extra` are parameters of its authorize page."""

    authorize: str
    token: str
    scopes: tuple[str, ...]
    extra: dict[str, str] = field(default_factory=dict)


NAMES = {
    "chat": "Discord",
    "video": "YouTube",
    "streaming": "Twitch",
    "game_store": "Steam",
    "membership": "Patreon",
}
LABELS = {**NAMES, "web": "Web"}  # A label for every `Identity.Provider`.

OAUTH2 = {
    "chat": OAuth2(
        authorize="https://discord.com/oauth2/authorize",
        token="https://discord.com/api/oauth2/token",
        scopes=("identify", "guilds", "guilds.members.read"),
    ),
    "video": OAuth2(
        authorize="https://accounts.google.com/o/oauth2/v2/auth",
        token="https://oauth2.googleapis.com/token",
        scopes=("openid", "profile", "https://www.googleapis.com/auth/youtube.readonly"),
        # The platform gives a refresh token only for this parameter, and only at the first consent.
        extra={"access_type": "offline"},
    ),
    "streaming": OAuth2(
        authorize="https://id.twitch.tv/oauth2/authorize",
        token="https://id.twitch.tv/oauth2/token",
        scopes=("user:read:follows", "user:read:subscriptions"),
    ),
    "membership": OAuth2(
        authorize="https://www.patreon.com/oauth2/authorize",
        token="https://www.patreon.com/api/oauth2/token",
        scopes=("identity", "identity.memberships"),
    ),
}


def credentials(provider: str) -> ProviderCredentials:
    """The credentials of an identity provider. Raises KeyError if there is none of that name."""
    found: ProviderCredentials = settings.SIGN_IN_PROVIDERS[provider]
    return found


def is_offered(provider: str) -> bool:
    """Whether this installation has credentials for an identity provider."""
    return provider in settings.SIGN_IN_PROVIDERS and credentials(provider).is_offered


def address(provider: str, url: str) -> str:
    """Return an address of a platform, on the host of BASE_URL if that is set."""
    base: str = credentials(provider).base_url
    return f"{base}{urlsplit(url).path}" if base else url
