"""The claims of an actor by role and tier (rules 1.26 to 1.31, 1.45 and 1.46)."""

from __future__ import annotations

from communities.ground.actors import Actor, Role
from communities.models import Member
from tests.support.cases import try_each


def actor(*, role: str = "member", tier: str = "basic") -> Actor:
    return Actor(user_id=1, role=role, community_id=2, tier=tier)


def test_there_is_a_role_for_each_access_of_a_member() -> None:
    assert {str(role) for role in Role} == set(Member.Access.values)


@try_each(
    ("role", "roles_held"),
    [
        ("member", [Role.MEMBER]),
        ("creator", [Role.MEMBER, Role.CREATOR]),
        ("admin", [Role.MEMBER, Role.CREATOR, Role.ADMIN]),
    ],
)
def test_a_role_includes_those_below_it(role: str, roles_held: list[Role]) -> None:
    assert [least for least in Role if actor(role=role).has_role(least)] == roles_held


@try_each(
    ("role", "claims"),
    [("member", (False, False, True)), ("creator", (False, True, False)), ("admin", (True, False, False))],
)
def test_an_actor_is_exactly_one_of_the_roles(role: str, claims: tuple[bool, ...]) -> None:
    one = actor(role=role)

    assert (one.is_admin, one.is_creator, one.is_member) == claims
    assert one.sees_drafts is (role != "member")


@try_each(
    ("tier", "features", "requests"),
    [("basic", False, 60), ("premium", True, 300), ("vip", True, 600), ("custom", True, 1000)],
)
def test_the_tier_decides_features_and_rate(tier: str, features: bool, requests: int) -> None:
    one = actor(tier=tier)

    assert (one.has_premium_features, one.requests_per_minute) == (features, requests)
