"""Webhook events about a person are in their personal data, and lose their name at an erasure."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from django.db import transaction

from surveys.models import Project
from surveys.services.projects import opening
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.concurrency import BackgroundCall
from tests.support.dumps import dump
from tests.support.surveys import known_person, scenario
from tests.support.surveys.known_person import AT, AUDIENCE, GIVES_XP, MEMBER_ID, USER_ID, erasing, everywhere
from tests.support.webhooks.outbox import create_webhook
from webhooks.models import Delivery, Event

DATA = f"/members/{MEMBER_ID}/data"
TABLES = ("webhooks_event", "webhooks_delivery")
pytestmark = pytest.mark.django_db


def listening() -> Caller:
    """A community with a webhook that receives all events."""
    caller = Caller()
    create_webhook(caller.community)
    return caller


def events(caller: Caller) -> list[dict[str, Any]]:
    found = caller.get(DATA).json()["webhook_events"]
    return [dict(each) for each in found]


def bodies() -> dict[str, Any]:
    return {str(each.pk): orjson.loads(each.body or "null") for each in Event.objects.all()}


def opened_by_ann(caller: Caller) -> dict[str, Any]:
    """An opened project of the person, whose event has their name."""
    made = caller.make(TEXT, name="Ann's own", **AUDIENCE)
    Project.objects.filter(pk=made["id"]).update(author=USER_ID)
    return made | caller.post(f"/projects/{made['id']}/open").json()


def test_a_person_reads_the_events_of_them_that_nobody_listens_to() -> None:
    caller = Caller()
    everywhere(caller)

    assert {each["type"] for each in events(caller)} == {"response.submitted"}
    assert not Delivery.objects.exists()


def test_a_person_is_told_what_webhooks_were_told_of_them() -> None:
    caller = listening()
    ann = everywhere(caller)
    opened_by_ann(caller)

    told = events(caller)

    responses = caller.get(DATA).json()["responses"]
    submitted = [each for each in told if each["type"] == "response.submitted"]
    assert {each["data"]["response"]["id"] for each in submitted} == {
        each["id"] for each in responses if each["status"] == "completed"
    }
    assert {each["data"]["response"]["user_id"] for each in submitted} == {str(USER_ID)}
    assert ann.projects[2]["id"] not in {each["data"]["project_id"] for each in submitted}
    (opened,) = [each for each in told if each["type"] == "project.opened"]
    assert opened["data"]["project"]["info"]["author_name"] == known_person.NAME
    assert {each["id"]: each["data"] for each in told} == {
        each["id"]: bodies()[each["id"]]["data"] for each in told
    }


def test_all_that_the_outbox_says_of_a_person_is_told_to_them() -> None:
    caller = listening()
    ann = everywhere(caller)
    opened_by_ann(caller)
    found = {word for table in TABLES for word in ann.traces(dump()).get(table, ())}

    text = orjson.dumps(events(caller)).decode()

    assert {str(USER_ID), known_person.NAME, known_person.CHAT_ID} <= found
    assert [word for word in found if word not in text] == []
    assert [word for word in ann.kept if word in text] == []


def test_nobody_who_holds_the_whole_database_finds_who_was_erased_in_what_webhooks_are_told() -> None:
    caller = listening()
    ann = everywhere(caller)
    opened_by_ann(caller)
    theirs = Event.objects.filter(person_id=USER_ID)
    Delivery.objects.filter(event__in=theirs).update(response_body=f"Thank you, {known_person.NAME}.")
    assert set(TABLES) <= set(ann.traces(dump()))
    others = set(Event.objects.filter(person_id=None).values_list("pk", "body"))

    assert caller.delete(DATA).status_code == 204

    assert ann.traces(dump()) == known_person.ERASED
    assert others <= set(Event.objects.values_list("pk", "body"))


def test_what_is_still_to_be_sent_tells_the_response_as_it_is_listed_from_now_on() -> None:
    caller = listening()
    known_person.person(caller.community)
    survey = caller.make_open(CHOICE, GIVES_XP, TEXT, **AUDIENCE)
    told = scenario.say(known_person.begin(survey), 0, at=AT)
    scenario.say(known_person.past_statements(told), "The end.", at=AT)

    caller.delete(DATA)

    (listed,) = caller.get(f"/projects/{survey['id']}/responses").json()["data"]
    event = Event.objects.get(type="response.submitted")
    sent = orjson.loads(event.body or "")["data"]
    assert sent["response"].pop("updated_at") <= listed.pop("updated_at")  # the erasure moved it
    assert sent == {"project_id": survey["id"], "response": listed}
    delivery = event.deliveries.get()
    assert (listed["user_id"], delivery.status) == (None, "pending")


def test_what_is_still_to_be_sent_of_a_project_is_as_it_is_told_from_now_on() -> None:
    caller = listening()
    known_person.person(caller.community)
    made = opened_by_ann(caller)

    caller.delete(DATA)

    sent = orjson.loads(Event.objects.get(type="project.opened").body or "")["data"]["project"]["info"]
    info = caller.get(f"/projects/{made['id']}").json()["info"]
    assert sent.pop("updated_at") <= info.pop("updated_at")  # the erasure moved it
    assert sent == info
    assert sent["author_id"] is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_a_response_that_is_being_told_is_waited_for(privacy_mode: str) -> None:
    caller = listening()
    ann = known_person.Person(known_person.person(caller.community))
    survey = caller.make_open(TEXT, privacy_mode=privacy_mode, **AUDIENCE)
    told = known_person.begin(survey)

    with transaction.atomic():
        scenario.say(told, "The end.", at=AT)
        eraser = BackgroundCall(erasing(caller))
        assert eraser.waits_for_lock()
    assert eraser.result() is None

    assert Event.objects.filter(type="response.submitted").count() == 1
    assert ann.traces(dump()) == known_person.ERASED


@pytest.mark.django_db(transaction=True)
def test_a_response_that_comes_while_erasing_is_told_without_a_name() -> None:
    caller = listening()
    ann = known_person.Person(known_person.person(caller.community))
    told = known_person.begin(caller.make_open(TEXT, **AUDIENCE))

    with transaction.atomic():
        erasing(caller)()
        answerer = BackgroundCall(lambda: scenario.say(told, "The end.", at=AT))
        assert answerer.waits_for_lock()
    assert answerer.result().is_completed

    assert Event.objects.filter(type="response.submitted").count() == 1
    assert ann.traces(dump()) == known_person.ERASED


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_project_that_opens_while_its_author_is_erased_is_told_without_them(is_first: bool) -> None:
    caller = listening()
    ann = known_person.Person(known_person.person(caller.community))
    made = caller.make(TEXT, **AUDIENCE)
    Project.objects.filter(pk=made["id"]).update(author=USER_ID)

    def open_it() -> object:
        return opening.open_project(actor=caller.actor, project_id=int(made["id"]), at=AT)

    first, second = (open_it, erasing(caller)) if is_first else (erasing(caller), open_it)
    with transaction.atomic():
        first()
        other = BackgroundCall(second)
        assert other.waits_for_lock()

    assert not isinstance(other.result(), Exception), other.result()
    assert Event.objects.filter(type="project.opened").count() == 1
    assert ann.traces(dump()) == known_person.ERASED
