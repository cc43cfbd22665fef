"""What the outbox holds about a person is told, and erased; what tells of others is left alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import transaction

from tests.surveys import talking
from tests.surveys.test_people_parallel import InThread
from tests.webhooks.telling import NOON, comes_out, community, tell, tried, webhook
from webhooks.events import EventType
from webhooks.models import Delivery, Event
from webhooks.sender import Answer
from webhooks.services import people

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


def told(**fields: Any) -> Event:
    data = {"project_id": "7", "response": RESPONSE}
    return tell(EventType.RESPONSE_SUBMITTED, data, **{"person_id": ANN, **fields})


def held(user_id: int = ANN, community_id: int = 1) -> list[dict[str, Any]]:
    return list(people.held(community_id=community_id, user_id=user_id))


def erase(user_id: int = ANN, community_id: int = 1) -> None:
    people.erase(community_id=community_id, user_id=user_id)


def body(event: Event) -> Any:
    event.refresh_from_db()
    return orjson.loads(event.body or "null")


# --- Telling ----------------------------------------------------------------------------------------


def test_what_names_a_person_is_told_oldest_first() -> None:
    webhook()
    late, early = told(at=NOON + timedelta(days=1)), told()
    tell(person_id=BO)
    tell()

    assert held() == [
        {
            "id": str(event.pk),
            "type": "response.submitted",
            "created_at": event.created_at,
            "data": {"project_id": "7", "response": RESPONSE},
        }
        for event in (early, late)
    ]


def test_what_is_forgotten_is_told_without_what_it_said() -> None:
    webhook()
    told()
    Event.objects.update(body=None)

    assert [(each["type"], each["data"]) for each in held()] == [("response.submitted", None)]


def test_what_another_community_holds_is_not_told() -> None:
    webhook(community(2))
    told(of=community(2))

    assert held() == []
    assert len(held(community_id=2)) == 1


def test_a_long_history_is_told_whole_a_page_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "AT_ONCE", 2)
    webhook()
    events = {str(told(at=NOON + timedelta(hours=n // 3)).pk) for n in range(7)}

    found = held()

    assert len(found) == len(events)
    assert {each["id"] for each in found} == events
    assert [each["created_at"] for each in found] == sorted(each["created_at"] for each in found)
    with talking.at_most(1):
        next(people.held(community_id=1, user_id=ANN))


# --- Erasing ----------------------------------------------------------------------------------------


def test_who_is_erased_is_named_nowhere_and_all_else_stays_as_it_was() -> None:
    webhook()
    event = told()
    before = body(event)

    erase()

    assert body(event) == {**before, "data": {"project_id": "7", "response": NAMELESS}}
    assert event.person_id is None
    assert held() == []


def test_only_names_change_in_the_bytes_that_are_sent() -> None:
    webhook()
    event = told()
    text = str(event.body)

    erase()

    event.refresh_from_db()
    for name, value in (("user_id", '"52"'), ("platform_id", '"9990003339"'), ("session_number", "2")):
        assert text.count(f'"{name}":{value}') == 1
        text = text.replace(f'"{name}":{value}', f'"{name}":null')
    assert event.body == text


def test_a_project_keeps_its_story_without_its_author() -> None:
    webhook()
    info = {"name": "Opening moves", "author_id": str(ANN), "author_name": "Ann", "url": None}
    event = tell(EventType.PROJECT_CREATED, {"project": {"id": "7", "info": info}}, person_id=ANN)

    erase()

    nameless = {**info, "author_id": None, "author_name": None}
    assert body(event)["data"] == {"project": {"id": "7", "info": nameless}}


def test_what_endpoints_answered_goes_and_what_is_still_to_be_sent_stays_due() -> None:
    webhook()
    tried(told(), status="failed", response_status=500, response_body="No user 52!", error=None)
    before = Delivery.objects.values().get()

    erase()

    assert Delivery.objects.values().get() == {**before, "response_body": None}


def test_what_was_forgotten_loses_whom_it_was_about() -> None:
    webhook()
    told()
    Event.objects.update(body=None)

    erase()

    assert Event.objects.values_list("body", "person_id").get() == (None, None)


def test_others_and_other_communities_are_left_alone() -> None:
    webhook()
    webhook(community(2))
    for event in (told(person_id=BO), tell()):
        event.deliveries.update(response_body="ok")
    told(of=community(2))
    before = (list(Event.objects.order_by("pk").values()), list(Delivery.objects.order_by("pk").values()))

    erase()

    after = (list(Event.objects.order_by("pk").values()), list(Delivery.objects.order_by("pk").values()))
    assert after == before


def test_a_long_history_is_erased_whole_and_in_few_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    webhook()
    for _ in range(9):
        told()

    with talking.at_most(4):
        erase()
    assert held() == []

    monkeypatch.setattr(people, "AT_ONCE", 2)
    for _ in range(9):
        told()
    erase()
    assert held() == []
    assert not Event.objects.filter(body__contains="9990003339").exists()


@pytest.mark.django_db(transaction=True)
def test_an_outcome_that_is_being_written_is_waited_for() -> None:
    webhook()
    event = told()

    with transaction.atomic():
        tried(event, status="delivered", response_body="Thanks, 9990003339.")
        eraser = InThread(erase)
        assert eraser.is_waiting()
    assert eraser.ended() is None

    assert Delivery.objects.get().response_body is None
    assert held() == []


def test_what_an_endpoint_answers_to_a_name_that_was_erased_meanwhile_is_not_kept() -> None:
    webhook()
    event = told()
    delivery = event.deliveries.select_related("event").get()
    erase()

    assert comes_out(delivery, Answer(200, "Thanks, 9990003339.", None), at=NOON)

    delivery.refresh_from_db()
    assert (delivery.status, delivery.response_status, delivery.response_body) == ("delivered", 200, None)


@pytest.mark.django_db(transaction=True)
def test_an_outcome_waits_for_an_erasure_that_is_under_way() -> None:
    webhook()
    event = told()
    delivery = event.deliveries.select_related("event").get()

    with transaction.atomic():
        erase()
        writer = InThread(lambda: comes_out(delivery, Answer(200, "Thanks, 9990003339.", None), at=NOON))
        assert writer.is_waiting()
    assert writer.ended() is True

    assert Delivery.objects.get().response_body is None


def test_what_an_endpoint_answers_to_a_name_that_stands_is_kept() -> None:
    webhook()
    delivery = told().deliveries.select_related("event").get()

    comes_out(delivery, Answer(200, "Thanks.", None), at=NOON)

    delivery.refresh_from_db()
    assert delivery.response_body == "Thanks."
