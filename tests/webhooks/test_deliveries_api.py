from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from tests.surveys.calling import NOON, Caller, faults, refusal
from tests.webhooks.listening import happen, listen
from webhooks.events import EventType
from webhooks.models import Delivery, Event
from webhooks.rounding import Rounding
from webhooks.services import deliveries

DUE = NOON + timedelta(minutes=5)
FIELDS = [
    "id",
    "webhook_id",
    "event_type",
    "event_id",
    "status",
    "attempt_count",
    "response_status",
    "response_body",
    "last_attempt_at",
    "next_retry_at",
    "created_at",
    "error",
]


@pytest.fixture
def caller(db: None) -> Caller:
    return Caller()


@pytest.fixture
def webhook(caller: Caller) -> dict[str, Any]:
    return listen(caller)


@pytest.fixture
def delivery(caller: Caller, webhook: dict[str, Any]) -> Delivery:
    return happen(caller.community)


def listed(caller: Caller, webhook: dict[str, Any], query: str = "") -> list[dict[str, Any]]:
    answer = caller.get(f"/webhooks/{webhook['id']}/deliveries{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["data"]


def becomes(delivery: Delivery, status: str, **fields: object) -> None:
    due = {"due_at": DUE if status in {"pending", "failed"} else None}
    Delivery.objects.filter(pk=delivery.pk).update(**{"status": status, **due, **fields})


def test_a_delivery_that_was_not_tried(caller: Caller, webhook: dict[str, Any], delivery: Delivery) -> None:
    [told] = listed(caller, webhook)

    assert list(told) == FIELDS
    assert told == {
        "id": str(delivery.pk),
        "webhook_id": webhook["id"],
        "event_type": "project.opened",
        "event_id": str(delivery.event_id),
        "status": "pending",
        "attempt_count": 0,
        "response_status": None,
        "response_body": None,
        "last_attempt_at": None,
        "next_retry_at": None,
        "created_at": "2026-01-31T12:00:00Z",
        "error": None,
    }


def test_a_delivery_that_failed(caller: Caller, webhook: dict[str, Any], delivery: Delivery) -> None:
    becomes(
        delivery,
        "failed",
        attempt_count=2,
        response_status=503,
        response_body="Back soon.",
        last_attempt_at=NOON + timedelta(microseconds=999_999),
    )

    [told] = listed(caller, webhook)

    assert (told["status"], told["attempt_count"]) == ("failed", 2)
    assert (told["response_status"], told["response_body"]) == (503, "Back soon.")
    assert told["last_attempt_at"] == "2026-01-31T12:00:00Z"
    assert told["next_retry_at"] == "2026-01-31T12:05:00Z"


def test_why_there_was_no_answer_is_told(caller: Caller, webhook: dict[str, Any], delivery: Delivery) -> None:
    becomes(delivery, "abandoned", attempt_count=10, error="The endpoint did not answer in time.")

    [told] = listed(caller, webhook)

    assert (told["status"], told["next_retry_at"]) == ("abandoned", None)
    assert told["error"] == "The endpoint did not answer in time."


def test_deliveries_are_listed_newest_first(
    caller: Caller,
    webhook: dict[str, Any],
    delivery: Delivery,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(3):  # the webhook, the count, the rows
        assert [each["id"] for each in listed(caller, webhook)] == [str(delivery.pk)]
    before, after = (happen(caller.community, at=NOON + timedelta(hours=hours)) for hours in (1, 2))
    happen(caller.community, at=NOON - timedelta(hours=1))

    with django_assert_num_queries(3):
        told = listed(caller, webhook, "?per_page=3")

    assert [each["id"] for each in told] == [str(each.pk) for each in (after, before, delivery)]
    page = caller.get(f"/webhooks/{webhook['id']}/deliveries?per_page=3").json()["pagination"]
    assert page == {"page": 1, "per_page": 3, "total": 4, "has_more": True}


def test_equal_times_are_in_order_of_ids(caller: Caller, webhook: dict[str, Any]) -> None:
    made = {str(happen(caller.community).pk) for _ in range(5)}

    told = [each["id"] for each in listed(caller, webhook)]

    assert told == sorted(made, reverse=True)


def test_each_webhook_has_its_own(caller: Caller, webhook: dict[str, Any]) -> None:
    other = listen(caller, events=["project.closed"])

    happen(caller.community)

    assert len(listed(caller, webhook)) == 1
    assert listed(caller, other) == []


@pytest.mark.parametrize("status", Delivery.Status.values)
def test_they_are_found_by_status(caller: Caller, webhook: dict[str, Any], status: str) -> None:
    for each in Delivery.Status.values:
        becomes(happen(caller.community), each, attempt_count=int(each != "pending"))

    found = listed(caller, webhook, f"?status={status}")

    assert [each["status"] for each in found] == [status]


def test_they_are_found_by_type_of_event(caller: Caller, webhook: dict[str, Any]) -> None:
    happen(caller.community)
    closed = happen(caller.community, EventType.PROJECT_CLOSED)

    assert [each["id"] for each in listed(caller, webhook, "?event_type=project.closed")] == [str(closed.pk)]
    assert listed(caller, webhook, "?event_type=project.closed&status=failed") == []


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("status=lost", ("status", "invalid_choice")),
        ("event_type=project.exploded", ("event_type", "invalid_choice")),
        ("event_type=*", ("event_type", "invalid_choice")),
        ("stauts=failed", ("stauts", "not_allowed")),
        ("status=failed&status=pending", ("status", "duplicate")),
        ("per_page=101", ("per_page", "too_large")),
    ],
)
def test_queries_that_are_refused(
    caller: Caller, webhook: dict[str, Any], query: str, fault: tuple[str, str]
) -> None:
    answer = caller.get(f"/webhooks/{webhook['id']}/deliveries?{query}")

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {fault}


def test_one_delivery_is_told_with_its_payload(caller: Caller, delivery: Delivery) -> None:
    told = caller.get(f"/deliveries/{delivery.pk}").json()

    assert list(told) == [*FIELDS, "payload"]
    assert told["payload"] == {
        "id": str(delivery.event_id),
        "type": "project.opened",
        "timestamp": "2026-01-31T12:00:00Z",
        "api_version": "v1",
        "community_id": str(caller.community.pk),
        "data": {"text": "Où?"},
    }


def test_a_payload_that_is_forgotten_is_null(caller: Caller, delivery: Delivery) -> None:
    Event.objects.update(body=None)

    assert caller.get(f"/deliveries/{delivery.pk}").json()["payload"] is None


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    calls: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setattr(deliveries, "wake", lambda task, **kwargs: calls.append((task, kwargs)))
    return calls


@pytest.mark.parametrize("status", Delivery.Status.values)
def test_any_delivery_can_be_sent_again(
    caller: Caller,
    webhook: dict[str, Any],
    delivery: Delivery,
    woken: list[tuple[str, dict[str, object]]],
    status: str,
) -> None:
    becomes(delivery, status, attempt_count=int(status != "pending"), error="No.")
    before = timezone.now()

    answer = caller.post(f"/deliveries/{delivery.pk}/redeliver")

    told = answer.json()
    assert answer.status_code == 201
    again = Delivery.objects.get(pk=told["id"])
    assert again.pk != delivery.pk
    assert (again.webhook_id, again.event_id) == (delivery.webhook_id, delivery.event_id)
    assert (again.status, again.attempt_count, again.error) == ("pending", 0, None)
    assert again.even_if_off
    assert again.is_settled
    assert before <= again.created_at <= timezone.now()
    assert again.due_at == again.created_at
    assert woken == [("webhooks.deliver", {"webhook_id": delivery.webhook_id, "lane": again.lane})]
    assert listed(caller, webhook)[0] == told
    assert {field: caller.get(f"/deliveries/{told['id']}").json()[field] for field in told} == told


def test_what_is_sent_again_stays_in_order_with_what_tells_of_the_same(
    caller: Caller, delivery: Delivery
) -> None:
    Delivery.objects.update(lane=3)

    caller.post(f"/deliveries/{delivery.pk}/redeliver")

    assert list(Delivery.objects.values_list("lane", flat=True)) == [3, 3]


@pytest.mark.parametrize("rounding", list(Rounding))
def test_what_tells_of_an_anonymous_response_is_sent_again_without_an_exact_time(
    caller: Caller, webhook: dict[str, Any], rounding: Rounding
) -> None:
    first = happen(caller.community, EventType.RESPONSE_SUBMITTED, rounded_to=rounding)
    before = datetime.now(UTC)

    told = caller.post(f"/deliveries/{first.pk}/redeliver").json()

    again = Delivery.objects.get(pk=told["id"])
    step = timedelta(hours=1) if rounding == Rounding.HOUR else timedelta(days=1)
    assert before - step < again.created_at <= datetime.now(UTC)
    assert (again.created_at - datetime(2026, 1, 1, tzinfo=UTC)) % step == timedelta()
    assert again.due_at == again.created_at
    assert not again.is_settled


def test_one_whose_body_is_forgotten_cannot_be_sent_again(caller: Caller, delivery: Delivery) -> None:
    Event.objects.update(body=None)

    answer = caller.post(f"/deliveries/{delivery.pk}/redeliver")

    assert refusal(answer) == (409, "conflict")
    assert Delivery.objects.count() == 1


def test_a_redelivery_sent_twice_is_made_once(caller: Caller, delivery: Delivery) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}

    answers = [caller.post(f"/deliveries/{delivery.pk}/redeliver", **headers) for _ in range(2)]

    assert answers[0].content == answers[1].content
    assert Delivery.objects.count() == 2


CALLS = [("get", ""), ("post", "/redeliver")]


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_those_of_other_communities_and_of_deleted_webhooks_look_absent(
    caller: Caller, webhook: dict[str, Any], method: str, path: str
) -> None:
    other = Caller()
    listen(other)
    theirs, own = happen(other.community), happen(caller.community)
    caller.delete(f"/webhooks/{webhook['id']}")

    answers = [
        caller.call(method, f"/deliveries/{delivery_id}{path}")
        for delivery_id in (uuid.uuid4(), theirs.pk, own.pk)
    ]

    assert [refusal(answer) for answer in answers] == [(404, "not_found")] * 3
    assert len({answer.content for answer in answers}) == 1
    assert Delivery.objects.count() == 2


def test_an_id_of_another_form_is_not_found(caller: Caller) -> None:
    assert refusal(caller.get("/deliveries/17")) == (404, "not_found")


@pytest.mark.parametrize("access", ["creator", "member"])
def test_deliveries_are_admins_business(
    caller: Caller, webhook: dict[str, Any], delivery: Delivery, access: str
) -> None:
    other = caller.beside(access)

    answers = [other.call(method, f"/deliveries/{delivery.pk}{path}") for method, path in CALLS]
    answers.append(other.get(f"/webhooks/{webhook['id']}/deliveries"))

    assert {refusal(answer) for answer in answers} == {(403, "forbidden")}
