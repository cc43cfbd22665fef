"""Webhooks are told of erasures at once: nothing of an anonymous answer is written with them (rule 7.19)."""

from __future__ import annotations

import pytest

from surveys.services.people import service as people
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.surveys import event_log, known_person, scenario
from tests.support.surveys.known_person import AT, AUDIENCE, MEMBER_ID, USER_ID

pytestmark = pytest.mark.django_db

TOLD = ("member.erased", {"member_id": str(MEMBER_ID)})


@pytest.fixture
def caller() -> Caller:
    """An admin of a community with a member, in which a webhook listens to everything about people."""
    caller = Caller()
    known_person.person(caller.community)
    event_log.listener(caller.community.pk, "response.updated", "member.erased")
    return caller


def erase(caller: Caller) -> None:
    people.erase(actor=caller.actor, member_id=MEMBER_ID, at=AT)


def heard(caller: Caller) -> list[tuple[str, object]]:
    return event_log.heard(caller.community.pk)


def test_an_erasure_is_told_and_its_responses_are_not(caller: Caller) -> None:
    survey = caller.make_open(TEXT, **AUDIENCE)
    scenario.say(known_person.begin(survey), "The end.", at=AT)

    erase(caller)

    assert heard(caller) == [TOLD]
    [body] = event_log.bodies(caller.community.pk)
    assert body["timestamp"] == "2026-01-31T12:34:56Z"


def test_an_erasure_over_the_interface_is_listed(caller: Caller) -> None:
    assert caller.delete(f"/members/{MEMBER_ID}/data").status_code == 204

    [event] = caller.get("/events?type=member.erased").json()["data"]
    assert event["data"] == {"member_id": str(MEMBER_ID)}


@pytest.mark.parametrize("leaves", [people.erase_account, people.erase_membership])
def test_an_erasure_at_their_own_request_is_told(caller: Caller, leaves: object) -> None:
    if leaves is people.erase_account:
        people.erase_account(user_id=USER_ID, at=AT)
    else:
        people.erase_membership(user_id=USER_ID, community_id=caller.community.pk, at=AT)

    assert heard(caller) == [TOLD]


def test_each_community_is_told_of_its_own_member(caller: Caller) -> None:
    other = Caller()
    event_log.listener(other.community.pk, "member.erased")

    erase(caller)

    assert event_log.heard(other.community.pk) == []


@pytest.mark.parametrize("said", [1, 2])
def test_answers_of_an_anonymous_project_delay_nothing(caller: Caller, said: int) -> None:
    made = caller.make_open(CHOICE, TEXT, privacy_mode="anonymous", **AUDIENCE)
    scenario.say(known_person.begin(made), *[0, "The end."][:said], at=AT)

    erase(caller)

    assert heard(caller) == [TOLD]
