"""Actors for tests of services."""

from __future__ import annotations

from communities.ground.actors import Actor
from tests.factories import UserFactory


def actor(role: str = "admin", *, user_id: int = 1, community_id: int = 1, tier: str = "premium") -> Actor:
    """An actor in a community; by default an admin of community 1.

    The audit trail needs an actor whose user exists: a member of the community, or a `superuser_actor`.
    """
    return Actor(user_id=user_id, role=role, community_id=community_id, tier=tier)


def superuser_actor(*, community_id: int = 1) -> Actor:
    """A new superuser, who acts in a community without being a member of it."""
    return actor(user_id=UserFactory.create(is_superuser=True).pk, community_id=community_id)
