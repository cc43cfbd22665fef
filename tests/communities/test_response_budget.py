"""The bytes of responses that are kept for the Idempotency-Keys of one API key are limited (rule 11.25)."""

import pytest
from django.db import connection
from django_redis import get_redis_connection

from communities.gate import idempotency, response_budget
from communities.gate.response_budget import ROW_BYTES, ResponseBudget
from communities.ground.tiers import TIERS, Tier
from tests.support.api_keys import count_keys, make_key, outcome
from tests.support.caller import Caller, refusal
from tests.support.redis import without_redis


@pytest.fixture
def small_budget(monkeypatch: pytest.MonkeyPatch, redis: object) -> ResponseBudget:
    """10,000 bytes for a key, counted in Redis after each 4,000."""
    fresh = ResponseBudget()
    monkeypatch.setattr(Tier, "idempotency_bytes", 10_000)
    monkeypatch.setattr(response_budget, "BYTES_AT_ONCE", 4_000)
    monkeypatch.setattr(idempotency, "response_budget", fresh)
    return fresh


@pytest.mark.usefixtures("small_budget")
def test_beyond_its_budget_a_key_keeps_no_responses_and_still_does_nothing_twice(db: None) -> None:
    caller, other = Caller(), Caller()
    first = make_key(caller, "first")
    large = [make_key(caller, f"large-{n}", name="é" * 200) for n in range(30)]

    kept = ["Idempotency-Stored" not in answer for answer in large]
    assert {answer.status_code for answer in large} == {201}
    assert kept == sorted(kept, reverse=True)
    assert 10 <= kept.count(True) <= 20  # of some 700 bytes each
    assert large[-1]["Idempotency-Stored"] == "false"

    before = count_keys("é" * 200)
    retries = [make_key(caller, f"large-{n}", name="é" * 200) for n in range(30)]
    for is_kept, answer, retry in zip(kept, large, retries, strict=True):
        if is_kept:
            assert outcome(retry) == (201, answer.content, True)
        else:
            assert refusal(retry) == (409, "conflict")
            assert "was done, with status 201. Its response was not kept" in retry.json()["message"]
    assert count_keys("é" * 200) == before == 30
    assert outcome(make_key(caller, "first")) == (201, first.content, True)
    assert "Idempotency-Stored" not in make_key(other, "first")
    changed = make_key(caller, "large-29", name="another")
    assert refusal(changed) == (409, "conflict")
    assert "was used for another request" in changed.json()["message"]


def test_a_budget_counts_the_last_24_hours_for_all_processes(small_budget: ResponseBudget) -> None:
    in_redis = get_redis_connection()
    elsewhere = ResponseBudget()
    name = "colloquy:idempotency:1"

    def taken(budget: ResponseBudget, size: int) -> bool:
        budget.settle(1, budget=10_000)
        return budget.take(1, size - ROW_BYTES)

    assert [taken(small_budget, 1_000) for _ in range(4)] == [True] * 4
    assert in_redis.hgetall(name) == {}  # few bytes cost no round trip
    assert taken(small_budget, 1_000)
    ((hour, counted),) = in_redis.hgetall(name).items()
    assert (counted, in_redis.ttl(name) > 24 * 3600) == (b"4000", True)
    assert [taken(elsewhere, 7_000), taken(elsewhere, 10), taken(elsewhere, 10)] == [True, False, False]

    later = ResponseBudget()
    in_redis.hset(name, str(int(hour) - 24), in_redis.hget(name, hour))
    in_redis.hdel(name, hour)
    assert [taken(later, 9_000), taken(later, 10)] == [True, True]
    assert in_redis.hkeys(name) == [hour]


def test_a_used_up_budget_is_asked_for_again_later(
    small_budget: ResponseBudget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_budget, "SECONDS_UNTIL_ASKED_AGAIN", 0.0)
    small_budget.take(1, 20_000)
    small_budget.settle(1, budget=10_000)
    is_kept = small_budget.take(1, 10)

    get_redis_connection().flushdb()
    small_budget.settle(1, budget=10_000)

    assert (is_kept, small_budget.take(1, 10)) == (False, True)


def test_redis_is_asked_outside_of_the_transaction(
    small_budget: ResponseBudget, monkeypatch: pytest.MonkeyPatch, transactional_db: None
) -> None:
    asked: list[bool] = []

    def count(*values: object) -> bool:
        asked.append(connection.in_atomic_block)
        return True

    monkeypatch.setattr(small_budget, "_count", count)
    caller = Caller()

    for n in range(6):
        make_key(caller, f"large-{n}", name="é" * 200)

    assert asked == [False]


def test_without_redis_responses_are_kept(small_budget: ResponseBudget) -> None:
    with without_redis():
        for _ in range(3):
            small_budget.settle(1, budget=10_000)
            assert small_budget.take(1, 9_000)


def test_a_day_at_the_full_rate_fits_into_the_budget_of_each_tier() -> None:
    for tier in TIERS.values():
        assert tier.idempotency_bytes >= tier.requests_per_minute * 60 * 24 * 2_048
