"""A change about a key takes effect at the very next request, in every process."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import redis as redis_package
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.urls import reverse
from django_redis import get_redis_connection
from pytest_django import DjangoAssertNumQueries

from communities.gate import authentication
from communities.ground import key_versions
from communities.models import ApiKey, Community, Member, User
from communities.services.api_keys import keys
from tests.factories import StaffFactory
from tests.support.actors import actor
from tests.support.api_requests import ask, clear_caller_cache, key_of
from tests.support.caller import Caller
from tests.support.kills import dying_after, in_a_process_that_dies
from tests.support.moments import NOON
from tests.support.other_process import other_process
from tests.support.redis import without_redis

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
REFUSED, LESS = 401, 403  # the key no longer works; the key works with another role


def path_of(caller: Caller) -> str:
    return f"/v1/communities/{caller.community.pk}/api_keys"  # for admins


def status(caller: Caller) -> int:
    return ask("GET", path_of(caller), key=caller.secret).status_code


def member_of(caller: Caller) -> Member:
    return Member.objects.get(user=caller.user)


def staff() -> Client:
    client = Client()
    client.force_login(StaffFactory.create())
    return client


def posted(page: str, values: dict[str, object], *args: object) -> None:
    answer = staff().post(reverse(f"admin:communities_{page}", args=args), values)
    assert answer.status_code in (302, 303), answer.status_code


def _saved(row: Any, **values: object) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.save()


def _bulk_updated(caller: Caller) -> None:
    key = key_of(caller)
    key.expires_at = NOON
    ApiKey.objects.bulk_update([key], ["expires_at"])


def _rotated_twice(caller: Caller) -> None:
    key = key_of(caller)
    for _ in range(2):
        keys.rotate_key(
            actor=actor(user_id=key.user_id, community_id=key.community_id), key_id=key.pk, at=NOON
        )


def _erased(caller: Caller) -> None:
    answer = caller.beside("admin").delete(f"/members/{member_of(caller).pk}/data")
    assert answer.status_code == 204, answer.content


def _in_a_transaction(caller: Caller) -> None:
    with transaction.atomic():
        Member.objects.filter(user=caller.user).update(access="creator")
        Community.objects.filter(pk=caller.community.pk).update(name="Another")


def _role_changed_in_the_admin(caller: Caller) -> None:
    caller.beside("admin")  # a community keeps one
    posted("member_access", {"access": "member"}, member_of(caller).pk)


CHANGES: dict[str, tuple[Callable[[Caller], object], int]] = {
    "revoked": (lambda of: of.beside("admin").delete(f"/api_keys/{key_of(of).pk}"), REFUSED),
    "rotated twice": (_rotated_twice, REFUSED),
    "restricted": (lambda of: ApiKey.objects.filter(user=of.user).update(restricted_to="creator"), LESS),
    "key deleted": (lambda of: ApiKey.objects.filter(user=of.user).delete(), REFUSED),
    "keys updated in bulk": (_bulk_updated, REFUSED),
    "another role": (lambda of: Member.objects.filter(user=of.user).update(access="creator"), LESS),
    "another role, saved": (lambda of: _saved(member_of(of), access="member"), LESS),
    "another role, in a transaction": (_in_a_transaction, LESS),
    "another role, of a related manager": (lambda of: of.community.members.update(access="member"), LESS),
    "left": (lambda of: of.user.memberships.update(left_at=NOON), REFUSED),
    "member deleted": (lambda of: member_of(of).delete(), REFUSED),
    "erased": (_erased, REFUSED),
    "account closed": (lambda of: User.objects.filter(pk=of.user.pk).update(is_active=False), REFUSED),
    "account closed, saved": (lambda of: _saved(User.objects.get(pk=of.user.pk), is_active=False), REFUSED),
    "user deleted": (lambda of: of.user.delete(), REFUSED),
    "community deleted": (lambda of: of.community.delete(), REFUSED),
    "role changed in the admin": (
        _role_changed_in_the_admin,
        LESS,
    ),
}


@pytest.mark.long
def test_a_change_holds_at_the_next_request_of_another_process() -> None:
    callers = {name: Caller() for name in CHANGES}
    upgraded = Caller(tier="basic")
    with other_process() as other:
        before = [other.get(each.secret, path_of(each)) for each in callers.values() for _ in range(2)]
        assert before == [(200, 1000)] * len(before)
        assert other.get(upgraded.secret, path_of(upgraded)) == (200, 60)

        after = {}
        for name, (change, _) in CHANGES.items():
            change(callers[name])
            after[name], _ = other.get(callers[name].secret, path_of(callers[name]))
        Community.objects.filter(pk=upgraded.community.pk).update(tier="vip")
        other.get(upgraded.secret, path_of(upgraded))

        assert after == {name: expected for name, (_, expected) in CHANGES.items()}
        assert other.get(upgraded.secret, path_of(upgraded)) == (200, 600)


def test_a_remembered_key_costs_one_round_trip_and_no_statement(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    caller = Caller()
    status(caller)
    commands = []
    execute, here = redis_package.Redis.execute_command, threading.get_ident()

    def counted(client: object, *arguments: Any, **options: Any) -> object:
        if threading.get_ident() == here:  # and not of the thread that still sends wakes of an earlier test
            commands.append(arguments[0])
        return execute(client, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(redis_package.Redis, "execute_command", counted)
    with django_assert_num_queries(0):
        ask("GET", "/v1/nothing", key=caller.secret)
    Member.objects.filter(user=caller.user).update(nick="Ann")  # decides nothing
    caller.community.save(update_fields=["name"])
    clear_caller_cache()
    with django_assert_num_queries(1):  # what was forgotten is looked up once
        ask("GET", "/v1/nothing", key=caller.secret)

    assert commands == ["EVALSHA"] * 2


def test_what_was_read_before_a_change_does_not_count_as_read_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The key is revoked between its look-up and the count of the request; another request learns of it."""
    caller = Caller()
    neighbour = caller.beside("admin")
    status(caller)
    clear_caller_cache()
    find = authentication._find

    def find_too_early(*arguments: Any) -> Any:
        found = find(*arguments)
        monkeypatch.undo()
        ApiKey.objects.filter(user=caller.user).update(revoked_at=NOON)
        assert status(neighbour) == 200
        return found

    monkeypatch.setattr(authentication, "_find", find_too_early)
    first, second = status(caller), status(caller)

    assert (first, second) == (REFUSED, REFUSED)


def _unannounced(caller: Caller) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE communities_apikey SET revoked_at = now() WHERE user_id = %s", [caller.user.pk]
        )


def test_when_redis_loses_its_data_keys_are_looked_up_again() -> None:
    caller = Caller()
    status(caller)
    _unannounced(caller)
    assert status(caller) == 200  # within the five seconds

    get_redis_connection().flushdb()

    assert status(caller) == REFUSED


def test_a_version_never_comes_back() -> None:
    """A counter would repeat versions after Redis has lost its data."""
    caller = Caller()
    seen = set()
    for _ in range(3):
        get_redis_connection().flushdb()
        key_versions.announce([caller.community.pk])
        status(caller)
        seen.add(get_redis_connection().get(key_versions.name_of(caller.community.pk)))

    assert len(seen) == 3


def test_a_process_that_dies_after_the_commit_has_announced_its_change() -> None:
    caller = Caller()
    assert status(caller) == 200

    with pytest.MonkeyPatch.context() as killing:
        killing.setattr(BaseDatabaseWrapper, "commit", dying_after(BaseDatabaseWrapper.commit))
        in_a_process_that_dies(lambda: Member.objects.filter(user=caller.user).update(access="creator"))

    assert status(caller) == LESS


def test_nobody_remembers_what_a_transaction_has_not_committed_yet() -> None:
    caller = Caller()
    status(caller)
    in_redis = get_redis_connection()
    name = key_versions.name_of(caller.community.pk)

    with transaction.atomic():
        Member.objects.filter(user=caller.user).update(access="creator")
        during = in_redis.get(name), in_redis.pttl(name) <= key_versions.LONGEST_CHANGE
        transaction.set_rollback(True)

    assert during == (key_versions.CHANGING, True)
    assert status(caller) == 200
    _unannounced(caller)
    assert status(caller) == REFUSED  # looked up at each request, as long as it says that it is changing


def test_without_redis_a_key_is_remembered_for_some_seconds_as_ever() -> None:
    caller = Caller()
    with without_redis():
        status(caller)

        Member.objects.filter(user=caller.user).update(access="creator")

        assert status(caller) == 200
        clear_caller_cache()  # as after five seconds
        assert status(caller) == LESS
        keys.revoke_key(actor=None, community_id=caller.community.pk, key_id=key_of(caller).pk, at=NOON)
    assert ApiKey.objects.get(user=caller.user).revoked_at == NOON
