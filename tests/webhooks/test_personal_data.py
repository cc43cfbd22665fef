"""Disclosure and erasure of a person's data in the outbox, without effect on other people."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import transaction

from tests.support.concurrency import BackgroundCall
from tests.support.surveys import scenario
from tests.support.webhooks.outbox import (
    MID_HOUR,
    create_webhook,
    emit_event,
    get_community,
    record_attempt,
    write_outcome,
)
from webhooks.events import EventType
from webhooks.models import Delivery, Event
from webhooks.sender import EndpointResponse
from webhooks.services import personal_data

pytestmark = pytest.mark.django_db

ANN, BO = 52, 53
RESPONSE: dict[str, Any] = {
    "id": "0190a4c8",
    "session_number": 2,
    "status": "completed",
    "user_id": str(ANN),
    "platform_id": "9990003339",
    "provider": "chat",
    "answers": [{"block_id": 41, "value": "I am 52.0 – “ja”.", "option_id": None, "score": 1.50}],
}
NAMELESS = {**RESPONSE, "user_id": None, "platform_id": None, "session_number": None}


def emit_response(**fields: Any) -> Event:
    data = {"project_id": "7", "response": RESPONSE}
    return emit_event(EventType.RESPONSE_SUBMITTED, data, **{"person_id": ANN, **fields})


def events_about(user_id: int = ANN, community_id: int = 1) -> list[dict[str, Any]]:
    return list(personal_data.events_naming(community_id=community_id, user_ids=[user_id]))


def erase(user_id: int = ANN, community_id: int = 1) -> None:
    personal_data.erase(community_id=community_id, user_ids=[user_id])


def body(event: Event) -> Any:
    event.refresh_from_db()
    return orjson.loads(event.body or "null")


# --- Disclosure -------------------------------------------------------------------------------------


def test_events_that_name_a_person_are_returned_oldest_first() -> None:
    create_webhook()
    late, early = emit_response(at=MID_HOUR + timedelta(days=1)), emit_response()
    emit_event(person_id=BO)
    emit_event()

    assert events_about() == [
        {
            "id": str(event.pk),
            "type": "response.submitted",
            "created_at": event.created_at,
            "data": {"project_id": "7", "response": RESPONSE},
        }
        for event in (early, late)
    ]


def test_an_event_without_a_body_has_no_data() -> None:
    create_webhook()
    emit_response()
    Event.objects.update(body=None)

    assert [(each["type"], each["data"]) for each in events_about()] == [("response.submitted", None)]


def test_events_of_other_communities_are_not_returned() -> None:
    create_webhook(get_community(2))
    emit_response(community=get_community(2))

    assert events_about() == []
    assert len(events_about(community_id=2)) == 1


def test_a_long_history_is_read_completely_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(personal_data, "BATCH_SIZE", 2)
    create_webhook()
    events = {str(emit_response(at=MID_HOUR + timedelta(hours=n // 3)).pk) for n in range(7)}

    history = events_about()

    assert len(history) == len(events)
    assert {each["id"] for each in history} == events
    assert [each["created_at"] for each in history] == sorted(each["created_at"] for each in history)
    with scenario.at_most(1):
        next(personal_data.events_naming(community_id=1, user_ids=[ANN]))


# --- Erasure ----------------------------------------------------------------------------------------


def test_an_erased_person_is_named_nowhere_and_everything_else_stays() -> None:
    create_webhook()
    event = emit_response()
    before = body(event)

    erase()

    assert body(event) == {**before, "data": {"project_id": "7", "response": NAMELESS}}
    assert event.person_id is None
    assert events_about() == []


def test_only_names_change_in_the_body() -> None:
    create_webhook()
    event = emit_response()
    text = str(event.body)

    erase()

    event.refresh_from_db()
    for name, value in (("user_id", '"52"'), ("platform_id", '"9990003339"'), ("session_number", "2")):
        assert text.count(f'"{name}":{value}') == 1
        text = text.replace(f'"{name}":{value}', f'"{name}":null')
    assert event.body == text


def test_an_event_about_a_project_loses_its_author() -> None:
    create_webhook()
    info = {"name": "Opening moves", "author_id": str(ANN), "author_name": "Ann", "url": None}
    event = emit_event(EventType.PROJECT_CREATED, {"project": {"id": "7", "info": info}}, person_id=ANN)

    erase()

    nameless = {**info, "author_id": None, "author_name": None}
    assert body(event)["data"] == {"project": {"id": "7", "info": nameless}}


def test_responses_are_deleted_and_due_deliveries_stay_due() -> None:
    create_webhook()
    record_attempt(
        emit_response(), status="failed", response_status=500, response_body="No user 52!", error=None
    )
    before = Delivery.objects.values().get()

    erase()

    assert Delivery.objects.values().get() == {**before, "response_body": None}


def test_an_event_without_a_body_loses_its_person() -> None:
    create_webhook()
    emit_response()
    Event.objects.update(body=None)

    erase()

    assert Event.objects.values_list("body", "person_id").get() == (None, None)


def test_others_and_other_communities_are_left_alone() -> None:
    create_webhook()
    create_webhook(get_community(2))
    for event in (emit_response(person_id=BO), emit_event()):
        event.deliveries.update(response_body="ok")
    emit_response(community=get_community(2))
    before = (list(Event.objects.order_by("pk").values()), list(Delivery.objects.order_by("pk").values()))

    erase()

    after = (list(Event.objects.order_by("pk").values()), list(Delivery.objects.order_by("pk").values()))
    assert after == before


def test_a_long_history_is_erased_completely_and_in_few_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    create_webhook()
    for _ in range(9):
        emit_response()

    with scenario.at_most(4):
        erase()
    assert events_about() == []

    monkeypatch.setattr(personal_data, "BATCH_SIZE", 2)
    for _ in range(9):
        emit_response()
    erase()
    assert events_about() == []
    assert not Event.objects.filter(body__contains="9990003339").exists()


@pytest.mark.django_db(transaction=True)
def test_an_erasure_waits_for_an_outcome_that_is_being_written() -> None:
    create_webhook()
    event = emit_response()

    with transaction.atomic():
        record_attempt(event, status="delivered", response_body="Thanks, 9990003339.")
        eraser = BackgroundCall(erase)
        assert eraser.waits_for_lock()
    assert eraser.result() is None

    assert Delivery.objects.get().response_body is None
    assert events_about() == []


def test_a_response_is_not_stored_after_the_person_was_erased() -> None:
    create_webhook()
    event = emit_response()
    delivery = event.deliveries.select_related("event").get()
    erase()

    assert write_outcome(delivery, EndpointResponse(200, "Thanks, 9990003339.", None), at=MID_HOUR)

    delivery.refresh_from_db()
    assert (delivery.status, delivery.response_status, delivery.response_body) == ("delivered", 200, None)


@pytest.mark.django_db(transaction=True)
def test_an_outcome_waits_for_an_erasure_that_is_under_way() -> None:
    create_webhook()
    event = emit_response()
    delivery = event.deliveries.select_related("event").get()

    with transaction.atomic():
        erase()
        response = EndpointResponse(200, "Thanks, 9990003339.", None)
        writer = BackgroundCall(lambda: write_outcome(delivery, response, at=MID_HOUR))
        assert writer.waits_for_lock()
    assert writer.result() is True

    assert Delivery.objects.get().response_body is None


def test_a_response_is_stored_while_the_event_names_the_person() -> None:
    create_webhook()
    delivery = emit_response().deliveries.select_related("event").get()

    write_outcome(delivery, EndpointResponse(200, "Thanks.", None), at=MID_HOUR)

    delivery.refresh_from_db()
    assert delivery.response_body == "Thanks."
