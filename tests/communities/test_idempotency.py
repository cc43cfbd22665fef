"""A write with an Idempotency-Key is done once. Here it creates an API key, which is easy to count.

Rules 11.21 to 11.24.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from communities.api import keys as keys_api
from communities.gate import idempotency
from communities.ground import rounding, sealing
from communities.ground.rounding import Rounding
from communities.models import ApiKey, IdempotentRequest, Member
from communities.services.tenants.housekeeping import delete_expired_idempotent_requests
from tests.support.api_keys import NAME, ONE, count_keys, make_key, outcome
from tests.support.api_requests import ask, clear_caller_cache, key_of
from tests.support.caller import Caller, refusal


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
    """Rule 11.26."""
    caller = Caller()
    secret = make_key(caller, "a-key-of-ours").json()["key"]

    with connection.cursor() as cursor:
        cursor.execute("SELECT row::text, encode(body, 'escape') FROM communities_idempotentrequest AS row")
        stored = "".join(cursor.fetchone())

    for known in (secret, NAME, "a-key-of-ours", str(caller.community.pk), secret.encode().hex()):
        assert known not in stored


def test_the_fingerprint_of_a_request_is_keyed(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 11.26."""
    caller = Caller()
    assert outcome(make_key(caller))[0] == 201
    fingerprints = [IdempotentRequest.objects.get().fingerprint]

    monkeypatch.setattr(sealing, "hash_root", lambda: sealing.root_of(b"another"))
    IdempotentRequest.objects.all().delete()
    assert outcome(make_key(caller))[0] == 201
    fingerprints.append(IdempotentRequest.objects.get().fingerprint)

    assert fingerprints[0] != fingerprints[1]


def test_a_write_costs_two_statements_more(
    db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    caller = Caller()
    caller.get("/settings")
    caller.patch("/settings", {"xp_name": "a"})
    work = 3  # the settings under a lock, the change, its entry in the audit trail
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
    monkeypatch.setattr("communities.services.tenants.housekeeping.BATCH_SIZE", 2)
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
    """The first request keeps its claim until the second waits for it.

    Then the first is refused, and the second runs.
    """
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
def test_no_key_keeps_all_threads_of_a_process() -> None:
    """Rule 11.23: a request runs elsewhere, two wait for it here, and the third is refused meanwhile."""
    caller = Caller()
    other = connections.create_connection("default")
    other.set_autocommit(False)
    with other.cursor() as cursor:
        cursor.execute(CLAIM, [claim_of(caller)])

    with ThreadPoolExecutor(idempotency.AT_ONCE) as pool:
        waiting = [pool.submit(in_a_thread, caller) for _ in range(idempotency.AT_ONCE)]
        until_waiting(idempotency.AT_ONCE)
        refused = make_key(caller)
        are_waiting = not any(each.done() for each in waiting)
        other.rollback()
        answers = [each.result() for each in waiting]
    other.close()

    assert refusal(refused) == (409, "conflict")
    assert int(refused["Retry-After"]) >= 1
    assert are_waiting
    assert {answer.status_code for answer in answers} == {201}
    assert outcome(make_key(caller))[::2] == (201, True)
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
    until_waiting(1)


def until_waiting(count: int) -> None:
    while True:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0] >= count:
                return
