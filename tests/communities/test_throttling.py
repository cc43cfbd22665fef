"""Rate limits (rules 11.15, 11.16, 11.18 and 11.19)."""

import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import RequestFactory
from django_redis import get_redis_connection
from pytest_django import DjangoAssertNumQueries, Settings
from redis.exceptions import RedisError

from communities.gate import throttling
from communities.gate.throttling import Allowance, address_of, take
from communities.models import Community
from tests.support.api_requests import RATE_HEADERS, ask, clear_caller_cache, key_of, new_address
from tests.support.caller import Caller, refusal
from tests.support.redis import without_redis

pytestmark = pytest.mark.usefixtures("redis")


@pytest.fixture
def redis_away() -> Iterator[None]:
    with without_redis():
        yield


def age(name: str, seconds: float) -> None:
    """Make all hits under a name older."""
    redis = get_redis_connection()
    for index, hit in enumerate(redis.lrange(name, 0, -1)):
        redis.lset(name, index, int(hit) - int(seconds * 1_000_000))


def use(caller: Caller) -> None:
    """Count a request of a caller on the tier basic."""
    throttling.take_for_key(key_of(caller).pk, 60, community_id=caller.community.pk)


def left(answer: object) -> list[str]:
    return [answer[header] for header in RATE_HEADERS]  # type: ignore[index]


def test_as_many_as_allowed_and_no_more() -> None:
    allowances = [take("name", 3) for _ in range(5)]

    assert [each.is_used_up for each in allowances] == [False, False, False, True, True]
    assert [each.remaining for each in allowances] == [2, 1, 0, 0, 0]


def test_names_do_not_share() -> None:
    take("one", 1)

    assert not take("other", 1).is_used_up


def test_the_window_slides() -> None:
    take("name", 2)
    age("name", 59)
    take("name", 2)

    assert take("name", 2).is_used_up
    age("name", 1)
    assert not take("name", 2).is_used_up
    assert take("name", 2).is_used_up


def test_resets_when_the_oldest_hit_leaves() -> None:
    begun = time.time()

    resets = [take("name", 2).resets_at for _ in range(3)]

    assert len(set(resets)) == 1
    assert begun + 60 <= resets[0] <= math.ceil(time.time() + 60)


def test_a_request_after_retry_after_is_accepted() -> None:
    take("name", 1)
    age("name", 30.5)

    refused = take("name", 1)
    age("name", refused.retry_after)

    assert refused.retry_after == 30
    assert not take("name", 1).is_used_up


def test_one_waits_a_second_at_least() -> None:
    take("name", 1)
    age("name", 59.9)

    assert take("name", 1).retry_after == 1


def test_refused_requests_do_not_count() -> None:
    take("name", 1)
    for _ in range(5):
        take("name", 1)

    assert get_redis_connection().llen("name") == 1


def test_after_a_limit_was_lowered_the_wait_is_until_enough_have_left() -> None:
    for seconds in (10, 20, 30, 0):
        take("name", 10)
        age("name", seconds)
    # Hits are now 60, 50, 30 and 0 seconds old; one that is 60 seconds old has left.

    refused = take("name", 2)

    assert refused.is_used_up
    assert 29 < refused.retry_after <= 30


def test_many_at_once_get_no_more_than_allowed() -> None:
    with ThreadPoolExecutor(8) as pool:
        allowances = list(pool.map(lambda _: take("name", 50), range(200)))

    assert sum(not each.is_used_up for each in allowances) == 50
    assert sorted(each.remaining for each in allowances if not each.is_used_up) == list(range(50))


def test_the_script_is_sent_again_after_redis_has_lost_it() -> None:
    get_redis_connection().script_flush()

    assert not take("name", 1).is_used_up
    assert take("name", 1).is_used_up


def test_the_log_of_hits_expires_by_itself() -> None:
    take("name", 1)

    assert 60 <= get_redis_connection().ttl("name") <= 61


@pytest.mark.parametrize(("tier", "limit"), [("basic", 60), ("premium", 300), ("vip", 600), ("custom", 1000)])
def test_the_tier_decides_the_limit(db: None, tier: str, limit: int) -> None:
    answer = ask("GET", "/v1/communities", key=Caller(tier=tier).secret)

    assert left(answer)[:2] == [str(limit), str(limit - 1)]


def test_a_tier_that_changed_holds_within_seconds(db: None) -> None:
    caller = Caller(tier="basic")
    ask("GET", "/v1/communities", key=caller.secret)

    Community.objects.filter(pk=caller.community.pk).update(tier="vip")
    clear_caller_cache()

    assert left(ask("GET", "/v1/communities", key=caller.secret))[:2] == ["600", "598"]


def test_too_many_requests_get_retry_after(db: None) -> None:
    caller = Caller(tier="basic")
    for _ in range(60):
        use(caller)

    answer = ask("GET", "/v1/communities", key=caller.secret)

    assert answer.status_code == 429
    assert answer.json() == {"error": "rate_limit_exceeded", "retry_after": int(answer["Retry-After"])}
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert left(answer)[:2] == ["60", "0"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/nothing"),
        ("DELETE", "/v1/communities"),
        ("PATCH", "/v1/communities/1/settings"),
        ("OPTIONS", "/v1/communities"),
    ],
)
def test_whatever_is_asked_counts(db: None, method: str, path: str) -> None:
    caller = Caller()

    answers = [ask(method, path, key=caller.secret) for _ in range(2)]

    assert [left(answer)[1] for answer in answers] == ["999", "998"]


def test_a_used_up_limit_comes_before_everything_else(db: None) -> None:
    caller = Caller("member", tier="basic")
    for _ in range(60):
        use(caller)

    answers = [
        ask("GET", "/v1/nothing", key=caller.secret),
        ask("PATCH", f"/v1/communities/{caller.community.pk}/settings", key=caller.secret, body=b"{"),
        ask("PUT", "/v1/communities", key=caller.secret),
    ]

    assert [answer.status_code for answer in answers] == [429, 429, 429]


def test_attempts_without_a_valid_key_are_limited_by_address(db: None) -> None:
    address = new_address()

    answers = [
        ask("GET", "/v1/communities", key="wrong" if n % 2 else None, address=address) for n in range(62)
    ]

    assert [answer.status_code for answer in answers] == [401] * 60 + [429] * 2
    assert left(answers[0])[:2] == ["60", "59"]
    assert refusal(ask("GET", "/v1/communities", address=new_address())) == (401, "missing_api_key")


def test_a_valid_key_works_from_an_address_that_is_used_up(db: None) -> None:
    address = new_address()
    for _ in range(61):
        ask("GET", "/v1/communities", address=address)

    assert ask("GET", "/v1/communities", key=Caller().secret, address=address).status_code == 200


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "6.6.6.6", "9.9.9.9"),
        (1, "6.6.6.6", "6.6.6.6"),
        (1, "6.6.6.6, 7.7.7.7", "7.7.7.7"),
        (2, "6.6.6.6, 7.7.7.7, 8.8.8.8", "7.7.7.7"),
        (2, "6.6.6.6", "6.6.6.6"),
        (1, "", "9.9.9.9"),
        (1, " , ", "9.9.9.9"),
        (1, "6.6.6.6, 7.7.7.7:5678", "7.7.7.7"),
        (1, " 7.7.7.7:5678\t", "7.7.7.7"),
        (1, '"7.7.7.7:5678"', "7.7.7.7"),
        (1, "[2001:db8::1]:443", "2001:db8::/64"),
        (1, '"[2001:DB8:0:0:1::1]:443"', "2001:db8::/64"),
        (1, "[2001:db8::2]", "2001:db8::/64"),
        (1, "2001:db8::3", "2001:db8::/64"),
        (1, "fe80::1%eth0", "fe80::/64"),
        (1, "[fe80::1%25eth0]:80", "fe80::/64"),
        (1, "::ffff:7.7.7.7", "7.7.7.7"),
        (1, "[::ffff:7.7.7.7]:80", "7.7.7.7"),
        (2, "[2001:db8::1]:443, 7.7.7.7:80, 8.8.8.8", "7.7.7.7"),
        # No address: it counts as the proxy's, so that inventing some gains nothing.
        (1, "unknown", "9.9.9.9"),
        (1, "_hidden", "9.9.9.9"),
        (1, "1.2.3", "9.9.9.9"),
        (1, "01.2.3.4", "9.9.9.9"),
        (1, "[]", "9.9.9.9"),
        (1, "[1.2.3.4", "9.9.9.9"),
        (1, "1.2.3.4:80:80", "9.9.9.9"),
        (1, "x" * 5000, "9.9.9.9"),
    ],
)
def test_the_address_is_what_our_outermost_proxy_saw(
    settings: Settings, proxies: int, forwarded: str, address: str
) -> None:
    settings.TRUSTED_PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="9.9.9.9", headers={"X-Forwarded-For": forwarded})

    assert address_of(request) == address


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:6:5:4:3", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("203.0.113.9", "203.0.113.9"),
        ("203.0.113.9:5678", "203.0.113.9"),
        ("[2001:db8:1:2:3::]:5678", "2001:db8:1:2::/64"),
        ("no:address", "no:address"),
    ],
)
def test_an_ipv6_address_counts_as_its_household(remote: str, address: str) -> None:
    assert address_of(RequestFactory().get("/", REMOTE_ADDR=remote)) == address


def test_a_window_may_be_an_hour() -> None:
    take("name", 1, seconds=3600)
    age("name", 3599)

    assert take("name", 1, seconds=3600).is_used_up
    assert 3600 <= get_redis_connection().ttl("name") <= 3601
    age("name", 1)
    assert not take("name", 1, seconds=3600).is_used_up


@pytest.mark.usefixtures("redis_away")
def test_without_redis_calls_go_through(db: None) -> None:
    caller = Caller(tier="basic")

    answers = [ask("GET", "/v1/communities", key=caller.secret) for _ in range(70)]

    assert {answer.status_code for answer in answers} == {200}
    assert left(answers[0])[:2] == ["60", "60"]
    assert int(left(answers[0])[2]) > time.time()
    assert throttling.outage.calls_let_through == 70


@pytest.mark.usefixtures("redis_away")
def test_without_redis_a_process_counts_alone_what_must_stay_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [float(int(time.monotonic()))]  # A sum with a fraction may be rounded beyond a whole second.
    throttling.outage.begin(RedisError())
    throttling.outage._next_attempt_at += 1_000
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def taken(name: str = "name") -> tuple[int, int]:
        allowance = throttling.take_surely(name, 2, seconds=60)
        return allowance.remaining, allowance.retry_after

    assert [taken(), taken(), taken(), taken("other")] == [(1, 0), (0, 0), (0, 60), (1, 0)]
    now[0] += 59.5
    assert taken() == (0, 1)
    now[0] += 0.5
    assert [taken(), taken(), taken()] == [(1, 0), (0, 0), (0, 60)]
    throttling.forget("name")
    assert taken() == (1, 0)


@pytest.mark.usefixtures("redis_away")
def test_redis_is_left_alone_while_it_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    take("name", 5)
    monkeypatch.setattr(throttling, "_run_script", pytest.fail)

    assert isinstance(take("name", 5), Allowance)


def test_when_redis_is_back_calls_count_again(monkeypatch: pytest.MonkeyPatch) -> None:
    outage = throttling.Outage()
    monkeypatch.setattr(throttling, "outage", outage)
    outage.begin(RedisError())
    assert take("name", 1).remaining == 1

    outage._next_attempt_at = time.monotonic()
    allowances = [take("name", 1), take("name", 1)]

    assert [each.is_used_up for each in allowances] == [False, True]


def test_a_known_key_costs_no_statement(db: None, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    caller = Caller()
    ask("GET", "/v1/communities", key=caller.secret)

    with django_assert_num_queries(0):
        ask("GET", "/v1/nothing", key=caller.secret)
