"""From the header to the caller (rules 1.22, 1.23 and 11.11)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from communities.gate.authentication import Caller as AuthenticatedCaller
from communities.gate.authentication import authenticate, caller_cache
from communities.ground.actors import ActingKey, Actor
from communities.ground.errors import InvalidApiKey
from communities.models import ApiKey, Member
from communities.services.api_keys import keys
from tests.support.actors import actor
from tests.support.api_requests import ask, clear_caller_cache, key_of
from tests.support.caller import Caller, refusal
from tests.support.moments import NOON

ALMOST = timedelta(microseconds=1)


def works(secret: str, at: datetime = NOON) -> bool:
    clear_caller_cache()
    try:
        authenticate(secret, at=at)
    except InvalidApiKey:
        return False
    return True


def caller_with(access: str = "admin", *, tier: str = "custom", **of_key: Any) -> tuple[ApiKey, str]:
    """A key with these fields, and its secret."""
    caller = Caller(access, tier=tier)
    ApiKey.objects.filter(community=caller.community).update(**of_key)
    return key_of(caller), caller.secret


def rotated(key: ApiKey) -> tuple[ApiKey, str]:
    return keys.rotate_key(
        actor=actor(user_id=key.user_id, community_id=key.community_id), key_id=key.pk, at=NOON
    )


def test_a_key_identifies_the_caller(db: None) -> None:
    key, secret = caller_with("creator", tier="vip")

    caller = authenticate(secret, at=NOON)

    acting_key = ActingKey(key.pk, key.key_prefix)
    expected = Actor(key.user_id, "creator", key.community_id, "vip", acting_key)
    assert caller == AuthenticatedCaller(key.pk, key.key_prefix, "all", expected, key.community_id)


@pytest.mark.parametrize(
    ("restricted_to", "access", "role"),
    [
        (None, "admin", "admin"),
        (None, "creator", "creator"),
        (None, "member", "member"),
        ("creator", "admin", "creator"),
        ("creator", "creator", "creator"),
        ("creator", "member", "member"),
    ],
)
def test_a_key_has_its_makers_role_or_creator(
    db: None, restricted_to: str | None, access: str, role: str
) -> None:
    _, secret = caller_with(access, restricted_to=restricted_to)

    assert authenticate(secret, at=NOON).actor.role == role


def test_a_role_is_the_current_one(db: None) -> None:
    key, secret = caller_with("admin")
    assert authenticate(secret, at=NOON).actor.role == "admin"

    Member.objects.filter(user=key.user).update(access="member")
    caller_cache.clear()

    assert authenticate(secret, at=NOON).actor.role == "member"


def test_a_request_without_a_key_is_refused(db: None) -> None:
    assert refusal(ask("GET", "/v1/communities")) == (401, "missing_api_key")
    assert refusal(ask("GET", "/v1/communities", key="")) == (401, "missing_api_key")


@pytest.mark.parametrize("key", ["x", "cq_live_" + "a" * 43, "cq_live_" + "a" * 5000, "ключ", "\x00", "a b"])
def test_an_unknown_key_is_refused(db: None, key: str) -> None:
    answer = ask("GET", "/v1/communities", key=key)

    assert refusal(answer) == (401, "invalid_api_key")


def test_a_very_long_key_is_refused_without_asking_the_database(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0), pytest.raises(InvalidApiKey):
        authenticate("k" * 201, at=NOON)


def test_a_revoked_key_works_no_more(db: None) -> None:
    key, secret = caller_with()
    assert works(secret)

    keys.revoke_key(actor=None, community_id=key.community_id, key_id=key.pk, at=NOON)

    assert not works(secret)


def test_a_key_works_until_it_expires(db: None) -> None:
    _, secret = caller_with(expires_at=NOON)

    assert works(secret, at=NOON - ALMOST)
    assert not works(secret, at=NOON)


def test_a_rotated_key_lives_for_another_day(db: None) -> None:
    key, old = caller_with()

    _, new = rotated(key)

    assert works(new, at=NOON + timedelta(days=2))
    assert works(old, at=NOON + timedelta(days=1) - ALMOST)
    assert not works(old, at=NOON + timedelta(days=1))


def test_a_key_rotated_twice_forgets_the_first(db: None) -> None:
    key, first = caller_with()

    _, second = rotated(key)
    _, third = rotated(key)

    assert [works(first), works(second), works(third)] == [False, True, True]


def test_a_key_ends_with_its_makers_membership(db: None) -> None:
    key, secret = caller_with()

    Member.objects.filter(user=key.user).update(left_at=NOON)

    assert not works(secret)


def test_a_key_ends_with_its_makers_account(db: None) -> None:
    key, secret = caller_with()

    key.user.is_active = False
    key.user.save()

    assert not works(secret)


def test_a_membership_elsewhere_does_not_count(db: None) -> None:
    key, secret = caller_with()
    elsewhere, _ = caller_with("admin")

    Member.objects.filter(user=key.user).update(community=elsewhere.community)

    assert not works(secret)


def test_a_caller_is_looked_up_by_one_statement_and_then_remembered(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    _, secret = caller_with()

    with django_assert_num_queries(1):
        authenticate(secret, at=NOON)
        authenticate(secret, at=NOON)


def test_a_caller_is_not_remembered_past_the_keys_end(db: None) -> None:
    _, secret = caller_with(expires_at=NOON)
    authenticate(secret, at=NOON - ALMOST)

    with pytest.raises(InvalidApiKey):
        authenticate(secret, at=NOON)


def test_a_use_is_noted_once_a_minute(db: None) -> None:
    key, secret = caller_with()
    seen = []

    for seconds in (0, 59, 60, 61, 121):
        works(secret, at=NOON + timedelta(seconds=seconds))
        seen.append((ApiKey.objects.get(pk=key.pk).last_used_at - NOON).seconds)  # type: ignore[operator]

    assert seen == [0, 0, 60, 60, 121]


def test_another_communitys_path_is_absent(db: None) -> None:
    own, other = Caller(), Caller()
    home = f"/v1/communities/{own.community.pk}"

    paths = [f"/v1/communities/{other.community.pk}", "/v1/communities/1", f"{home}x", f"{home}/", f"{home}0"]

    assert [refusal(ask("GET", path, key=own.secret)) for path in paths] == [(404, "not_found")] * 5


@pytest.mark.parametrize(
    "community", ["0", "-1", "01", "1.0", "٣", "9" * 19, "9" * 40, "%00", "a%0Ab", "%ff", ""]
)
def test_an_id_that_is_no_community_is_not_found(db: None, community: str) -> None:
    answer = ask("GET", f"/v1/communities/{community}/settings", key=Caller().secret)

    assert refusal(answer) == (404, "not_found")
