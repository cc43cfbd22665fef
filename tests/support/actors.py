"""Actors for tests of services."""

from __future__ import annotations

from communities.actors import Actor


def actor(role: str = "admin", *, user_id: int = 1, community_id: int = 1, tier: str = "premium") -> Actor:
    """Somebody who acts in a community; by default an admin of community 1."""
    return Actor(user_id=user_id, role=role, community_id=community_id, tier=tier)
