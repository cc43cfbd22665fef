from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from communities.ground.rounding import Rounding
from tests.support.caller import Caller, faults, refusal
from tests.support.moments import NOON
from tests.support.webhooks.registration import emit_delivery, register_webhook
from webhooks.events import EventType
from webhooks.models import Delivery, Event
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
    return register_webhook(caller)


@pytest.fixture
def delivery(caller: Caller, webhook: dict[str, Any]) -> Delivery:
    return emit_delivery(caller.community)


def list_deliveries(caller: Caller, webhook: dict[str, Any], query: str = "") -> list[dict[str, Any]]:
    response = caller.get(f"/webhooks/{webhook['id']}/deliveries{query}")
    assert response.status_code == 200, response.content
    return response.json()["data"]


def set_status(delivery: Delivery, status: str, **fields: object) -> None:
    due = {"due_at": DUE if status in {"pending", "failed"} else None}
    Delivery.objects.filter(pk=delivery.pk).update(**{"status": status, **due, **fields})


def test_a_delivery_before_its_first_attempt(
    caller: Caller, webhook: dict[str, Any], delivery: Delivery
) -> None:
    [body] = list_deliveries(caller, webhook)

    assert list(body) == FIELDS
    assert body == {
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
    """Rule 9.16."""
    set_status(
        delivery,
        "failed",
        attempt_count=2,
        response_status=503,
        response_body="Back soon.",
        last_attempt_at=NOON + timedelta(microseconds=999_999),
    )

    [body] = list_deliveries(caller, webhook)

    assert (body["status"], body["attempt_count"]) == ("failed", 2)
    assert (body["response_status"], body["response_body"]) == (503, "Back soon.")
    assert body["last_attempt_at"] == "2026-01-31T12:00:00Z"
    assert body["next_retry_at"] == "2026-01-31T12:05:00Z"


def test_a_delivery_shows_why_there_was_no_response(
    caller: Caller, webhook: dict[str, Any], delivery: Delivery
) -> None:
    set_status(delivery, "abandoned", attempt_count=10, error="The endpoint did not answer in time.")

    [body] = list_deliveries(caller, webhook)

    assert (body["status"], body["next_retry_at"]) == ("abandoned", None)
    assert body["error"] == "The endpoint did not answer in time."


def test_deliveries_are_listed_newest_first(
    caller: Caller,
    webhook: dict[str, Any],
    delivery: Delivery,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(3):  # the webhook, the count, the rows
        assert [each["id"] for each in list_deliveries(caller, webhook)] == [str(delivery.pk)]
    before, after = (emit_delivery(caller.community, at=NOON + timedelta(hours=hours)) for hours in (1, 2))
    emit_delivery(caller.community, at=NOON - timedelta(hours=1))

    with django_assert_num_queries(3):
        body = list_deliveries(caller, webhook, "?per_page=3")

    assert [each["id"] for each in body] == [str(each.pk) for each in (after, before, delivery)]
    page = caller.get(f"/webhooks/{webhook['id']}/deliveries?per_page=3").json()["pagination"]
    assert page == {"page": 1, "per_page": 3, "total": 4, "has_more": True}


@pytest.mark.parametrize("status", Delivery.Status.values)
def test_deliveries_are_filtered_by_status(caller: Caller, webhook: dict[str, Any], status: str) -> None:
    for each in Delivery.Status.values:
        set_status(emit_delivery(caller.community), each, attempt_count=int(each != "pending"))

    matching = list_deliveries(caller, webhook, f"?status={status}")

    assert [each["status"] for each in matching] == [status]


def test_deliveries_are_filtered_by_type_of_event(caller: Caller, webhook: dict[str, Any]) -> None:
    emit_delivery(caller.community)
    closed = emit_delivery(caller.community, EventType.PROJECT_CLOSED)

    assert [each["id"] for each in list_deliveries(caller, webhook, "?event_type=project.closed")] == [
        str(closed.pk)
    ]
    assert list_deliveries(caller, webhook, "?event_type=project.closed&status=failed") == []


@pytest.mark.parametrize(
    ("query", "violation"),
    [
        ("status=lost", ("status", "invalid_choice")),
        ("event_type=project.exploded", ("event_type", "invalid_choice")),
        ("event_type=*", ("event_type", "invalid_choice")),
        ("stauts=failed", ("stauts", "not_allowed")),
        ("status=failed&status=pending", ("status", "duplicate")),
        ("per_page=101", ("per_page", "too_large")),
    ],
)
def test_invalid_query_parameters_are_refused(
    caller: Caller, webhook: dict[str, Any], query: str, violation: tuple[str, str]
) -> None:
    response = caller.get(f"/webhooks/{webhook['id']}/deliveries?{query}")

    assert refusal(response) == (400, "invalid_request")
    assert faults(response) == {violation}


def test_a_single_delivery_includes_its_payload(caller: Caller, delivery: Delivery) -> None:
    """Rule 9.16."""
    body = caller.get(f"/deliveries/{delivery.pk}").json()

    assert list(body) == [*FIELDS, "attempts", "payload"]
    assert body["payload"] == {
        "id": str(delivery.event_id),
        "type": "project.opened",
        "timestamp": "2026-01-31T12:00:00Z",
        "api_version": "v1",
        "community_id": str(caller.community.pk),
        "data": {"text": "Où?"},
    }


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    calls: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setattr(deliveries, "wake", lambda task, **kwargs: calls.append((task, kwargs)))
    return calls


@pytest.mark.parametrize("status", Delivery.Status.values)
def test_any_delivery_can_be_redelivered(
    caller: Caller,
    webhook: dict[str, Any],
    delivery: Delivery,
    woken: list[tuple[str, dict[str, object]]],
    status: str,
) -> None:
    set_status(delivery, status, attempt_count=int(status != "pending"), error="No.")
    before = timezone.now()

    response = caller.post(f"/deliveries/{delivery.pk}/redeliver")

    body = response.json()
    assert response.status_code == 201
    redelivery = Delivery.objects.get(pk=body["id"])
    assert redelivery.pk != delivery.pk
    assert (redelivery.webhook_id, redelivery.event_id) == (delivery.webhook_id, delivery.event_id)
    assert (redelivery.status, redelivery.attempt_count, redelivery.error) == ("pending", 0, None)
    assert redelivery.even_if_off
    assert redelivery.is_settled
    assert before <= redelivery.created_at <= timezone.now()
    assert redelivery.due_at == redelivery.created_at
    assert woken == [
        ("webhooks.deliver", {"webhook_id": delivery.webhook_id, "partition": redelivery.partition})
    ]
    assert list_deliveries(caller, webhook)[0] == body
    assert {field: caller.get(f"/deliveries/{body['id']}").json()[field] for field in body} == body


def test_a_redelivery_uses_the_same_partition(caller: Caller, delivery: Delivery) -> None:
    Delivery.objects.update(partition=3)

    caller.post(f"/deliveries/{delivery.pk}/redeliver")

    assert list(Delivery.objects.values_list("partition", flat=True)) == [3, 3]


@pytest.mark.parametrize("rounding", list(Rounding))
def test_a_redelivery_about_an_anonymous_response_has_no_exact_time(
    caller: Caller, webhook: dict[str, Any], rounding: Rounding
) -> None:
    first = emit_delivery(caller.community, EventType.RESPONSE_SUBMITTED, rounded_to=rounding)
    before = datetime.now(UTC)

    body = caller.post(f"/deliveries/{first.pk}/redeliver").json()

    redelivery = Delivery.objects.get(pk=body["id"])
    step = timedelta(hours=1) if rounding == Rounding.HOUR else timedelta(days=1)
    assert before - step < redelivery.created_at <= datetime.now(UTC)
    assert (redelivery.created_at - datetime(2026, 1, 1, tzinfo=UTC)) % step == timedelta()
    assert redelivery.due_at == redelivery.created_at
    assert not redelivery.is_settled


def test_a_delivery_without_a_body_cannot_be_redelivered(caller: Caller, delivery: Delivery) -> None:
    Event.objects.update(body=None)

    response = caller.post(f"/deliveries/{delivery.pk}/redeliver")

    assert refusal(response) == (409, "conflict")
    assert Delivery.objects.count() == 1


def test_a_repeated_redelivery_is_created_once(caller: Caller, delivery: Delivery) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}

    responses = [caller.post(f"/deliveries/{delivery.pk}/redeliver", **headers) for _ in range(2)]

    assert responses[0].content == responses[1].content
    assert Delivery.objects.count() == 2


CALLS = [("get", ""), ("post", "/redeliver")]


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_deliveries_of_other_communities_and_deleted_webhooks_look_absent(
    caller: Caller, webhook: dict[str, Any], method: str, path: str
) -> None:
    other = Caller()
    register_webhook(other)
    theirs, own = emit_delivery(other.community), emit_delivery(caller.community)
    caller.delete(f"/webhooks/{webhook['id']}")

    responses = [
        caller.call(method, f"/deliveries/{delivery_id}{path}")
        for delivery_id in (uuid.uuid4(), theirs.pk, own.pk)
    ]

    assert [refusal(response) for response in responses] == [(404, "not_found")] * 3
    assert len({response.content for response in responses}) == 1
    assert Delivery.objects.count() == 2
