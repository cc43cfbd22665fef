"""A write with an Idempotency-Key is done once. Here it creates an API key, which is easy to count."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.utils import timezone
from django_redis import get_redis_connection
from pytest_django import DjangoAssertNumQueries

from communities import rounding
from communities.api import keys as keys_api
from communities.http import idempotency, response_budget
from communities.http.response_budget import ROW_BYTES, ResponseBudget
from communities.models import ApiKey, IdempotentRequest, Member
from communities.rounding import Rounding
from communities.services.housekeeping import delete_expired_idempotent_requests
from communities.tiers import TIERS, Tier
from tests.support.api_keys import NAME, ONE, count_keys, make_key, outcome
from tests.support.api_requests import ask, clear_caller_cache, key_of
from tests.support.caller import Caller, refusal
from tests.support.redis import without_redis


def test_the_same_again_is_answered_alike_and_not_done(db: None) -> None:
    caller = Caller()

    first, second, third = make_key(caller), make_key(caller), make_key(caller)

    assert outcome(first) == (201, first.content, False)
    assert outcome(second) == outcome(third) == (201, first.content, True)
    assert second["Idempotency-Replayed"] == "true"
    assert second["Content-Type"] == first["Content-Type"]
    assert count_keys() == 1


def test_without_the_header_each_is_done(db: None) -> None:
    caller = Caller()

    answers = [caller.post("/api_keys", {"name": NAME}) for _ in range(2)]

    assert answers[0].json()["key"] != answers[1].json()["key"]
    assert count_keys() == 2


def test_a_replay_counts_and_has_its_own_request_id(db: None) -> None:
    caller = Caller()

    first, second = make_key(caller), make_key(caller)

    left = [int(answer["X-RateLimit-Remaining"]) for answer in (first, second)]
    assert left[0] == left[1] + 1
    assert first["X-Request-Id"] != second["X-Request-Id"]


def test_an_answer_without_a_body_is_replayed_too(db: None) -> None:
    caller = Caller()
    path = f"/api_keys/{make_key(caller).json()['id']}"

    answers = [caller.delete(path, **{"Idempotency-Key": "two"}) for _ in range(2)]

    assert [outcome(answer) for answer in answers] == [(204, b"", False), (204, b"", True)]
    assert "Content-Type" not in answers[1]


def test_ignored_fields_are_replayed(db: None) -> None:
    caller = Caller()

    answers = [caller.patch("/settings", {"xp_nam": "x"}, **{"Idempotency-Key": ONE}) for _ in range(2)]

    assert [answer["X-Ignored-Fields"] for answer in answers] == ["xp_nam", "xp_nam"]


def test_an_etag_is_replayed(db: None) -> None:
    caller = Caller()
    project = caller.make()
    script = {"blocks": [{"type": "open_text", "prompt": "Why?"}]}

    answers = [
        caller.put(f"/projects/{project['id']}/script", script, **{"Idempotency-Key": ONE}) for _ in range(2)
    ]

    assert answers[0]["ETag"] == answers[1]["ETag"]
    assert outcome(answers[1]) == (200, answers[0].content, True)


@pytest.mark.parametrize("other", ["name", "path", "method", "white space"])
def test_another_request_under_the_same_key_is_a_conflict(db: None, other: str) -> None:
    caller = Caller()
    key_id = make_key(caller).json()["id"]
    header = {"Idempotency-Key": ONE}

    answer = {
        "name": lambda: make_key(caller, name="Another"),
        "path": lambda: caller.post(f"/api_keys/{key_id}/rotate", **header),
        "method": lambda: caller.delete(f"/api_keys/{key_id}", **header),
        "white space": lambda: ask(
            "POST",
            f"/v1/communities/{caller.community.pk}/api_keys",
            key=caller.secret,
            body=b'{ "name": "Made once" }',
            headers=header,
        ),
    }[other]()

    assert refusal(answer) == (409, "conflict")
    assert "Retry-After" not in answer
    assert ApiKey.objects.count() == 2


def test_keys_of_two_callers_do_not_meet(db: None) -> None:
    one = Caller()
    other = one.beside("admin")

    assert [outcome(make_key(one))[2], outcome(make_key(other))[2]] == [False, False]
    assert count_keys() == 2


@pytest.mark.parametrize("key", ["!", "~" * 255, "not-a-uuid", '"quoted"', "a,b"])
def test_any_visible_ascii_is_a_key(db: None, key: str) -> None:
    caller = Caller()

    assert [outcome(make_key(caller, key))[2] for _ in range(2)] == [False, True]


@pytest.mark.parametrize("key", ["", "a b", "a" * 256, "ü", "a\tb", "a\x7f", "\x00"])
def test_anything_else_is_no_key(db: None, key: str) -> None:
    answer = make_key(Caller(), key)

    assert refusal(answer) == (400, "invalid_request")
    assert answer.json()["violations"][0]["field"] == "Idempotency-Key"
    assert count_keys() == 0


def test_on_a_read_the_header_means_nothing(db: None) -> None:
    caller = Caller()

    answers = [caller.get("/settings", **{"Idempotency-Key": key}) for key in ("a b", ONE, ONE)]

    assert [outcome(answer)[::2] for answer in answers] == [(200, False)] * 3
    assert IdempotentRequest.objects.count() == 0


def test_a_refused_request_leaves_its_key_free(db: None) -> None:
    caller = Caller()
    assert refusal(make_key(caller, name="")) == (400, "invalid_request")
    assert refusal(make_key(caller, name="x" * 201)) == (400, "invalid_request")

    assert outcome(make_key(caller))[::2] == (201, False)


def test_after_a_change_of_role_the_role_decides(db: None) -> None:
    caller = Caller("member")
    assert refusal(make_key(caller)) == (403, "forbidden")

    Member.objects.filter(user=caller.user).update(access="admin")
    clear_caller_cache()
    assert outcome(make_key(caller))[::2] == (201, False)

    Member.objects.filter(user=caller.user).update(access="member")
    clear_caller_cache()
    assert refusal(make_key(caller)) == (403, "forbidden")


def test_a_fault_of_ours_leaves_the_key_free(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller()
    caller.client.raise_request_exception = False
    with monkeypatch.context() as broken:
        broken.setattr(keys_api.KeyViewSet, "_as_json", lambda *_: 1 / 0)
        assert refusal(make_key(caller)) == (500, "internal_error")

    assert count_keys() == 0
    assert outcome(make_key(caller))[::2] == (201, False)


def test_after_a_day_a_key_is_free(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller()
    make_key(caller)
    row = IdempotentRequest.objects.get()
    assert timedelta(hours=24) <= row.expires_at - timezone.now() <= timedelta(hours=25)

    IdempotentRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answers = [make_key(caller, name="Made later"), make_key(caller, name="Made later")]

    assert [outcome(answer)[::2] for answer in answers] == [(201, False), (201, True)]
    assert IdempotentRequest.objects.get().expires_at > timezone.now() + timedelta(hours=23)


def test_a_stored_response_expires_on_the_hour_and_reveals_no_exact_time(db: None) -> None:
    make_key(Caller())

    row = IdempotentRequest.objects.get()
    assert row.expires_at == rounding.down(row.expires_at, Rounding.HOUR)


def test_neither_request_nor_response_can_be_read_in_the_table(db: None) -> None:
    caller = Caller()
    secret = make_key(caller, "a-key-of-ours").json()["key"]

    with connection.cursor() as cursor:
        cursor.execute("SELECT row::text, encode(body, 'escape') FROM communities_idempotentrequest AS row")
        stored = "".join(cursor.fetchone())

    for known in (secret, NAME, "a-key-of-ours", str(caller.community.pk), secret.encode().hex()):
        assert known not in stored


def test_a_write_costs_two_statements_more(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    caller = Caller()
    caller.get("/settings")
    caller.patch("/settings", {"xp_name": "a"})
    work = 2  # the change, and the settings as they are now
    savepoints = 2  # one for the outer transaction, inside the test's own; services' blocks make none

    with django_assert_num_queries(work + 2 + savepoints):
        caller.patch("/settings", {"xp_name": "b"}, **{"Idempotency-Key": ONE})


def test_only_expired_rows_are_deleted(db: None) -> None:
    caller = Caller()
    make_key(caller, "old")
    IdempotentRequest.objects.update(expires_at=timezone.now())
    make_key(caller, "new", name="New")

    swept = [delete_expired_idempotent_requests(at=timezone.now()) for _ in range(2)]

    assert swept == [1, 0]
    assert outcome(make_key(caller, "new", name="New"))[2]


def test_deletion_continues_until_no_expired_row_is_left(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("communities.services.housekeeping.BATCH_SIZE", 2)
    over = timezone.now()
    IdempotentRequest.objects.bulk_create(
        IdempotentRequest(claim=str(n), fingerprint="", expires_at=over) for n in range(5)
    )

    assert delete_expired_idempotent_requests(at=over) == 5


@pytest.mark.django_db(transaction=True)
def test_twins_at_once_have_one_effect() -> None:
    caller = Caller()

    def send(_: int) -> tuple[int, bytes, bool]:
        try:
            return outcome(make_key(caller))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(12)))

    assert count_keys() == 1
    assert {status for status, _, _ in answers} == {201}
    assert len({body for _, body, _ in answers}) == 1
    assert sum(replayed for _, _, replayed in answers) == 11


@pytest.mark.django_db(transaction=True)
def test_a_twin_of_one_that_is_refused_is_done() -> None:
    """The first holds the claim until the second waits for it; then it is refused, and the second goes on."""
    caller = Caller()
    claim = claim_of(caller)
    other = connections.create_connection("default")
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute(CLAIM, [claim])

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(in_a_thread, caller)
        until_somebody_waits()
        other.rollback()
        answer = waiting.result()
    other.close()

    assert outcome(answer)[::2] == (201, False)
    assert count_keys() == 1


@pytest.mark.django_db(transaction=True)
def test_a_second_request_that_waited_too_long_may_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "SECONDS_TO_WAIT", 0.2)
    caller = Caller()
    other = connections.create_connection("default")
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute(CLAIM, [claim_of(caller)])

    answer = make_key(caller)
    other.rollback()
    other.close()

    assert refusal(answer) == (409, "conflict")
    assert int(answer["Retry-After"]) >= 1
    assert count_keys() == 0
    assert outcome(make_key(caller))[::2] == (201, False)


@pytest.mark.django_db(transaction=True)
def test_a_row_that_a_request_takes_over_is_not_deleted() -> None:
    caller = Caller()
    make_key(caller)
    IdempotentRequest.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    other = connections.create_connection("default")
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute("UPDATE communities_idempotentrequest SET expires_at = now() + interval '1 day'")

    swept = delete_expired_idempotent_requests(at=timezone.now())
    other.commit()
    other.close()

    assert swept == 0
    assert IdempotentRequest.objects.count() == 1


CLAIM = """
    INSERT INTO communities_idempotentrequest (claim, fingerprint, expires_at)
    VALUES (%s, '', now() + interval '1 day')
"""


def claim_of(caller: Caller) -> str:
    return idempotency._hash(b"claim", str(key_of(caller).pk).encode(), ONE.encode())


def in_a_thread(caller: Caller) -> Any:
    try:
        return make_key(caller)
    finally:
        connections.close_all()


def until_somebody_waits() -> None:
    while True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return


# --- The budget of bytes ------------------------------------------------------------------------------


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
