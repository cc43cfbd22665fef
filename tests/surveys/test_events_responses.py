"""Events about responses: each is sent once, with the whole response as in the interface."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from surveys.services.conversations import admission, removal
from surveys.services.conversations import service as conversations
from surveys.services.conversations.saving import LimitReached
from surveys.services.ground import lookup
from surveys.services.projects import schedule
from tests.support.caller import CHOICE, SAYING, TEXT, Caller
from tests.support.moments import LUNCHTIME
from tests.support.surveys import event_log, scenario
from tests.support.surveys.participants import Talk, a_member
from tests.support.surveys.visitor import Visitor
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db

MULTI = {**CHOICE, "type": "multi_punch"}
RANKING = {**CHOICE, "type": "ranking"}
SCALE = {
    "type": "rating",
    "prompt": "How good?",
    "options": [{"value": str(n), "label": f"{n} of 5"} for n in range(1, 6)],
}
SECRET = {
    **TEXT,
    "prompt": "Why blue?",
    "show_when": {"block": "Colour", "op": "eq", "value": "blue"},
}


@pytest.fixture
def caller() -> Caller:
    """An admin of a community in which one webhook listens to events about responses."""
    caller = Caller()
    event_log.listener(caller.community.pk, "response.submitted", "response.updated", "response.deleted")
    return caller


def heard(caller: Caller) -> list[tuple[str, Any]]:
    return event_log.heard(caller.community.pk)


def is_told(caller: Caller, project: dict[str, Any], response_id: str) -> bool:
    """Whether exactly one event has the response as the interface returns it now."""
    response = caller.get(f"/responses/{response_id}").json()
    return heard(caller) == [("response.submitted", {"project_id": project["id"], "response": response})]


def reply(talk: Talk, **said: object) -> None:
    body = {"block_id": talk.block["id"], **said}
    talk.told = talk.caller.post(f"{talk.path}/answers", body).json()


@pytest.mark.parametrize("privacy_mode", ["transparent", "semi-private", "anonymous"])
def test_a_completed_conversation_is_told_as_the_interface_tells_it(
    caller: Caller, privacy_mode: str
) -> None:
    project = caller.make_open(
        CHOICE, MULTI, RANKING, SCALE, {**TEXT, "required": False}, TEXT, SAYING, privacy_mode=privacy_mode
    )
    talk = Talk(caller, project, member_id=a_member(caller))

    talk.answer("green")
    ids = [option["id"] for option in talk.block["options"]]
    reply(talk, option_ids=[ids[2], ids[0]])
    reply(talk, ranking=[option["id"] for option in reversed(talk.block["options"])])
    talk.answer(4)
    reply(talk, skip=True)
    talk.answer("Because of “them”,\nthe others.")
    assert heard(caller) == []
    talk.go_on()

    assert talk.told["status"] == "completed"
    assert is_told(caller, project, talk.told["id"])


def test_answers_changed_on_the_way_are_told_as_they_ended(caller: Caller) -> None:
    project = caller.make_open({**CHOICE, "name": "Colour"}, SECRET, MULTI)
    talk = Talk(caller, project, member_id=a_member(caller))

    talk.answer("blue")
    talk.answer("It is the sky's.")
    talk.back()
    talk.back()
    talk.answer("red")  # hides the reason, which is dropped at the end
    reply(talk, option_ids=[talk.block["options"][0]["id"]])

    assert is_told(caller, project, talk.told["id"])
    [(_, data)] = heard(caller)
    assert [each["value"] for each in data["response"]["answers"]] == ["red", "red"]


def test_an_end_without_an_answer_of_its_own_tells_what_was_replaced_before(caller: Caller) -> None:
    project = caller.make_open({**CHOICE, "name": "Colour"}, MULTI, SAYING)
    talk = Talk(caller, project, member_id=a_member(caller))
    talk.answer("blue")
    reply(talk, option_ids=[option["id"] for option in talk.block["options"]])
    talk.back()
    reply(talk, option_ids=[talk.block["options"][1]["id"]])
    talk.back()
    talk.back()
    talk.answer("green")
    reply(talk, option_ids=[talk.block["options"][2]["id"]])

    talk.go_on()

    assert is_told(caller, project, talk.told["id"])


def test_answers_to_blocks_that_were_removed_meanwhile_are_told_too(caller: Caller) -> None:
    project = caller.make_open({**CHOICE, "name": "Colour"}, TEXT, TEXT)
    path = f"/projects/{project['id']}"
    talk = Talk(caller, project, member_id=a_member(caller))
    talk.answer("blue")
    talk.answer("The sky.")
    caller.post(f"{path}/close")
    colour, _, last = caller.get(f"{path}/script").json()["blocks"]
    colour["options"][2]["value"] = "navy"
    caller.put(f"{path}/script", {"blocks": [colour, last]})
    caller.post(f"{path}/open")

    talk.told = caller.get(talk.path).json()
    talk.through("At last.")

    assert is_told(caller, project, talk.told["id"])
    [(_, data)] = heard(caller)
    assert [each["value"] for each in data["response"]["answers"]] == ["blue", "At last.", "The sky."]


def test_a_response_repeated_or_refused_is_not_told_again(caller: Caller) -> None:
    project = caller.make_open(TEXT, settings={"max_completes_per_user": 1})
    talk = Talk(caller, project, member_id=a_member(caller))
    body = {"block_id": talk.block["id"], "value": "e4"}

    for key in ("one", "one", "another"):
        assert caller.post(f"{talk.path}/answers", body, **{"Idempotency-Key": key}).status_code == 200

    assert [type for type, _ in heard(caller)] == ["response.submitted"]


def test_of_two_devices_at_the_limit_one_is_told(caller: Caller) -> None:
    made = scenario.project(scenario.TEXT, community=caller.community, max_completes_per_user=1)
    first, second = scenario.begin(made, "ann"), scenario.begin(made, "ben")
    scenario.say(first, "e4")
    # As if the first had come to its end between the second's beginning and its end.
    made.conversations.filter(pk=second.conversation.pk).update(respondent=first.conversation.respondent)

    with pytest.raises(LimitReached):
        scenario.say(second, "d4")

    assert len(heard(caller)) == 1


def test_a_vote_is_told_its_change_too_and_taken_back_is_told_gone(caller: Caller, settings: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    made = scenario.poll(community=caller.community, change_poll=True, max_completes_per_user=1)
    visitor = Visitor(made).look()
    options = scenario.script(made).blocks[0].options

    visitor.send(option=options[0].id)
    visitor.send("change")
    visitor.send(option=options[1].id)
    voted = heard(caller)
    visitor.send("retract")

    assert [(type, data["response"]["answers"][0]["value"]) for type, data in voted] == [
        ("response.submitted", "red"),
        ("response.updated", "green"),
    ]
    [first, second] = (data["response"] for _, data in voted)
    assert first["id"] == second["id"]
    assert first["submitted_at"] == second["submitted_at"]
    data = voted[0][1]
    gone = {"project_id": str(made.pk), "response_id": data["response"]["id"]}
    assert heard(caller)[2:] == [("response.deleted", gone)]


@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_a_changed_vote_is_told_as_the_interface_tells_it(caller: Caller, privacy_mode: str) -> None:
    project = caller.make_open(CHOICE, type="poll", privacy_mode=privacy_mode, settings={"change_poll": True})
    talk = Talk(caller, project, member_id=a_member(caller))
    talk.answer("red")

    talk.back()
    assert len(heard(caller)) == 1
    talk.answer("blue")

    response = caller.get(f"/responses/{talk.told['id']}").json()
    assert [each["value"] for each in response["answers"]] == ["blue"]
    types = dict(heard(caller))  # those of one rounded time are in no order
    assert set(types) == {"response.submitted", "response.updated"}
    assert types["response.updated"] == {"project_id": project["id"], "response": response}


def test_the_same_vote_given_again_is_not_told(caller: Caller) -> None:
    project = caller.make_open(CHOICE, type="poll", settings={"change_poll": True})
    talk = Talk(caller, project, member_id=a_member(caller))
    talk.answer("red")

    talk.back()
    talk.answer("red")

    assert [type for type, _ in heard(caller)] == ["response.submitted"]


def test_a_response_deleted_over_the_interface_is_told_gone(caller: Caller) -> None:
    project = caller.make_open(TEXT, TEXT)
    talk = Talk(caller, project, member_id=a_member(caller))
    talk.answer("Half of it.")

    for _ in range(2):
        caller.delete(f"/responses/{talk.told['id']}")

    gone = {"project_id": project["id"], "response_id": talk.told["id"]}
    assert heard(caller) == [("response.deleted", gone)]


def test_events_know_whom_they_name_and_only_them(caller: Caller) -> None:
    named, nameless = caller.make_open(TEXT), caller.make_open(TEXT, privacy_mode="anonymous")
    member = a_member(caller)

    for project in (named, nameless):
        Talk(caller, project, member_id=member).through("e4")

    told = {
        json.loads(event.body or "")["data"]["response"]["user_id"]: event.person_id
        for event in Event.objects.filter(type="response.submitted")
    }
    assert None in told
    assert told.pop(None) is None
    assert [str(person_id) for person_id in told.values()] == list(told)


@pytest.mark.parametrize(
    ("rounds_to_day", "full"),
    [(False, datetime(2026, 1, 31, 12, tzinfo=UTC)), (True, datetime(2026, 1, 31, tzinfo=UTC))],
    ids=["hour", "day"],
)
def test_beside_an_anonymous_response_no_exact_time_is_kept(
    caller: Caller, rounds_to_day: bool, full: datetime
) -> None:
    made = scenario.poll(
        community=caller.community,
        privacy_mode="anonymous",
        rounds_times_to_day=rounds_to_day,
        change_poll=True,
    )
    told = conversations.vote(
        project_id=made.pk,
        respondent=admission.NAMELESS,
        raw={"block_id": scenario.script(made).blocks[0].id, "value": "red"},
        at=LUNCHTIME,
    )
    removal.retract(conversation_id=told.conversation.pk, at=LUNCHTIME)

    events = list(Event.objects.filter(type__startswith="response."))
    deliveries = list(Delivery.objects.all())
    written: list[Any] = [*events, *deliveries]
    bodies = [json.loads(event.body or "") for event in events]

    assert len(events) == len(deliveries) == 2
    assert {body["timestamp"] for body in bodies} == {full.strftime("%Y-%m-%dT%H:%M:%SZ")}
    assert {each.created_at for each in written} == {full}
    assert {each.due_at for each in deliveries} == {full}
    assert {each.pk.version for each in written} == {4}
    assert not any(each.is_settled for each in written)
    assert {event.person_id for event in events} == {None}


def test_the_first_to_enter_an_anonymous_project_leaves_its_opening_to_the_tick(caller: Caller) -> None:
    made = scenario.poll(
        community=caller.community, privacy_mode="anonymous", status="inactive", opens_at=LUNCHTIME
    )
    event_log.listener(caller.community.pk, "project.opened")
    raw = {"block_id": scenario.script(made).blocks[0].id, "value": "red"}

    conversations.vote(project_id=made.pk, respondent=admission.NAMELESS, raw=raw, at=LUNCHTIME)
    told_with_the_vote = [type for type, _ in heard(caller)]
    schedule.open_and_close_due(at=LUNCHTIME)

    assert told_with_the_vote == ["response.submitted"]
    assert Event.objects.filter(type="project.opened").count() == 1


def test_what_tells_of_one_response_is_sent_in_order(caller: Caller) -> None:
    project = caller.make_open(TEXT)
    talks = [Talk(caller, project, member_id=a_member(caller)) for _ in range(8)]

    for talk in talks:
        talk.through("e4")
        caller.delete(f"/responses/{talk.told['id']}")

    partitions = {
        talk.told["id"]: set(
            Delivery.objects.filter(event__body__contains=talk.told["id"]).values_list("partition", flat=True)
        )
        for talk in talks
    }
    assert {len(own) for own in partitions.values()} == {1}
    assert len(set.union(*partitions.values())) > 1


@pytest.mark.django_db(transaction=True)  # what is kept in memory is kept once it is committed
@pytest.mark.parametrize("listeners", [0, 1, 5])
def test_telling_takes_one_statement_however_many_listen(listeners: int) -> None:
    made = scenario.poll(max_completes_per_user=1)
    for _ in range(listeners):
        event_log.listener(made.community_id)
    vote = {"block_id": scenario.script(made).blocks[0].id, "value": "red"}

    def cast(respondent: admission.Respondent) -> None:
        conversations.vote(project_id=made.pk, respondent=respondent, raw=vote, at=LUNCHTIME)

    members = [scenario.member(name) for name in ("Ann", "Ben")]
    first, second = (
        admission.member(community_id=each.community_id, member_id=str(each.pk)) for each in members
    )
    cast(first)
    with scenario.at_most(6):
        cast(second)

    assert Delivery.objects.count() == 2 * listeners
    assert lookup.with_details([made.pk])[made.pk].completion_count == 2
