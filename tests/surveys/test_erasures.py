"""Webhooks are told of erasures: at once, or later where the event would reveal an anonymous answer."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from communities import sealing
from surveys.models import Project, SealedErasure
from surveys.services import erasures, people
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.storage import OF_ANSWERS, joined, stored_rows
from tests.support.surveys import event_log, known_person, scenario
from tests.support.surveys.known_person import AT, AUDIENCE, MEMBER_ID, USER_ID

pytestmark = pytest.mark.django_db

TOLD = ("member.erased", {"member_id": str(MEMBER_ID)})
NEXT_HOUR = AT.replace(hour=13, minute=0, second=0)
NEXT_DAY = AT.replace(day=1, month=2, hour=0, minute=0, second=0)
JUST_BEFORE = timedelta(microseconds=1)


@pytest.fixture
def caller() -> Caller:
    """An admin of a community with a member, in which a webhook listens to everything about people."""
    caller = Caller()
    known_person.person(caller.community)
    event_log.listener(caller.community.pk, "response.updated", "member.erased")
    return caller


def begin_anonymous(caller: Caller, **fields: object) -> Project:
    """The member answers one of two questions of an anonymous project."""
    made = caller.make_open(CHOICE, TEXT, privacy_mode="anonymous", **AUDIENCE)
    Project.objects.filter(pk=made["id"]).update(**fields)
    scenario.say(known_person.begin(made), 0, at=AT)
    return Project.objects.get(pk=made["id"])


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
    assert not SealedErasure.objects.exists()


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


def test_an_anonymous_answer_that_is_complete_delays_nothing(caller: Caller) -> None:
    made = caller.make_open(TEXT, privacy_mode="anonymous", **AUDIENCE)
    scenario.say(known_person.begin(made), "The end.", at=AT)

    erase(caller)

    assert heard(caller) == [TOLD]


@pytest.mark.parametrize(("is_daily", "due_at"), [(False, NEXT_HOUR), (True, NEXT_DAY)])
def test_in_the_middle_of_an_anonymous_project_it_is_told_when_the_hour_or_day_is_over(
    caller: Caller, is_daily: bool, due_at: datetime
) -> None:
    begin_anonymous(caller, rounds_times_to_day=is_daily)
    erase(caller)
    assert heard(caller) == []

    assert erasures.announce_due(at=due_at - JUST_BEFORE) == 0
    assert erasures.announce_due(at=due_at) == 1
    assert erasures.announce_due(at=due_at) == 0

    assert heard(caller) == [TOLD]
    [body] = event_log.bodies(caller.community.pk)
    assert body["timestamp"] == due_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert not SealedErasure.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_no_transaction_joins_the_event_to_an_anonymous_answer(caller: Caller) -> None:
    begin_anonymous(caller)

    erase(caller)
    waiting = joined(stored_rows(), answers=OF_ANSWERS)
    erasures.announce_due(at=NEXT_HOUR)
    told = joined(stored_rows(), answers=OF_ANSWERS)

    assert str(MEMBER_ID) not in repr(waiting)
    assert "surveys_sealederasure" in waiting
    assert str(MEMBER_ID) not in repr(told)
    assert heard(caller) == [TOLD]


def test_what_cannot_be_read_is_kept_and_logged(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begin_anonymous(caller)
    erase(caller)

    with monkeypatch.context() as other:
        other.setattr(sealing, "unseal", _unreadable)
        assert erasures.announce_due(at=NEXT_HOUR) == 0

    assert "erasures.unreadable" in caplog.text
    assert erasures.announce_due(at=NEXT_HOUR) == 1


def _unreadable(*_: object, **__: object) -> str:
    raise sealing.Unreadable


def test_many_are_told_once_each(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasures, "BATCH_SIZE", 2)
    project = begin_anonymous(caller)
    for member_id in range(1, 6):
        erasures.announce(
            community_id=caller.community.pk, member_id=member_id, anonymous_in={project.pk}, at=AT
        )

    assert erasures.announce_due(at=NEXT_HOUR) == 5

    assert sorted(data["member_id"] for _, data in event_log.heard(caller.community.pk)) == list("12345")
