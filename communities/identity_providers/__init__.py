"""Clients of the platforms that people sign in with. The clients use no database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProviderCredentials:
    """The credentials of an identity provider.

    `base_url` replaces the platform's own addresses; it is usually blank.
    """

    provider: str
    client_id: str
    client_secret: str
    base_url: str

    @property
    def is_offered(self) -> bool:
        return bool(self.client_secret) and (bool(self.client_id) or not self.needs_client_id)

    @property
    def needs_client_id(self) -> bool:
        """Whether the provider needs a client id; the game store needs only a key."""
        return self.provider != "game_store"
