"""An import gives no rewards and sends no events, unless the request asks for them."""

from __future__ import annotations

from typing import Any

import pytest

from communities.models import Member
from surveys.models import FiredAction
from tests.factories import IdentityFactory, MemberFactory
from tests.support.caller import CHOICE, Caller
from tests.support.surveys.imports import faults, imported, listed, partial, past, send
from tests.support.surveys.participants import Talk, deltas, giving, standing
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db

ONE = ("one", "red")
QUESTION = {**CHOICE, "name": "one"}
WEB = {"delivery": {"audience": {"participation": "open_web"}}}
EVENTS = {"url": "https://example.com/", "events": ["response.submitted", "response.deleted"]}


@pytest.fixture
def caller() -> Caller:
    return Caller(use_xp=True)


@pytest.fixture
def ann(caller: Caller) -> Member:
    made = MemberFactory.create(community=caller.community)
    IdentityFactory.create(user=made.user, provider="chat", platform_id="ann")
    return made


def survey(caller: Caller, *blocks: Any, **fields: Any) -> Any:
    return caller.make_open(*(blocks or (QUESTION,)), **{**WEB, **fields})


def participation(caller: Caller, member: Member) -> int:
    return int(standing(caller, str(member.pk))["participation"])


def live(caller: Caller, project: Any, member: Member) -> list[tuple[str, int]]:
    """The gifts of a live conversation to the same member in a similar project."""
    Talk(caller, project, member_id=str(member.pk)).through()
    return deltas(caller, str(member.pk))


def test_an_import_gives_nothing(caller: Caller, ann: Member) -> None:
    project = survey(caller, QUESTION, giving(xp_amount=50), rewards={"use_xp": True})

    imported(caller, project, past(ONE, platform_id="ann"))

    assert (deltas(caller, str(ann.pk)), participation(caller, ann)) == ([], 0)
    assert not FiredAction.objects.exists()


def test_with_xp_a_member_gets_what_completing_gives_and_once(caller: Caller, ann: Member) -> None:
    blocks = (QUESTION, giving(xp_amount=50), giving("give_achievement", xp_role_id=3))
    project = survey(caller, *blocks, rewards={"use_xp": True})
    sent = [past(ONE, platform_id="ann"), past(ONE, platform_id="ann"), past(ONE, platform_id="bob")]

    imported(caller, project, *sent, query="?give_xp=true")
    given = deltas(caller, str(ann.pk))
    count = participation(caller, ann)
    imported_again = send(caller, project, past(ONE, platform_id="ann"), query="?give_xp=true")

    assert imported_again.status_code == 201
    assert deltas(caller, str(ann.pk)) == given
    assert count == 2
    bo = MemberFactory.create(community=caller.community)
    assert live(caller, survey(caller, *blocks, rewards={"use_xp": True}), bo) == given
    assert [len(standing(caller, str(each.pk))["achievements"]) for each in (ann, bo)] == [1, 1]


@pytest.mark.parametrize("query", ["?give_xp=true", "?give_xp=true&dry_run=true"])
def test_creators_give_no_xp_by_an_import(caller: Caller, ann: Member, query: str) -> None:
    """Rule 8.18."""
    creator = caller.beside("creator")
    project = survey(creator, QUESTION, giving(xp_amount=1_000, fire_scope="session"))
    twice = [past(ONE, platform_id="ann"), past(ONE, platform_id="ann")]

    refused = send(creator, project, *twice, query=query)
    without = send(creator, project, *twice)
    given = deltas(caller, str(ann.pk))
    by_admin = send(caller, project, *twice, query=query)

    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
    assert [(each["field"], each["code"]) for each in refused.json()["violations"]] == [
        ("give_xp", "not_allowed")
    ]
    assert (without.status_code, given, by_admin.status_code in (200, 201)) == (201, [], True)


def test_what_a_person_earned_live_is_not_given_again(caller: Caller, ann: Member) -> None:
    project = survey(caller, QUESTION, giving(xp_amount=50))
    Talk(caller, project, member_id=str(ann.pk)).through()
    given = deltas(caller, str(ann.pk))

    imported(caller, project, past(ONE, platform_id="ann"), query="?give_xp=true")

    assert deltas(caller, str(ann.pk)) == given


def test_a_gift_behind_a_condition_is_given_to_those_who_reach_it(caller: Caller, ann: Member) -> None:
    hidden = {**giving(xp_amount=50), "show_when": {"variable": "one", "op": "eq", "value": "green"}}
    project = survey(caller, QUESTION, hidden)

    imported(caller, project, past(("one", "red"), platform_id="ann"), query="?give_xp=true")
    before = sum(delta for _, delta in deltas(caller, str(ann.pk)))
    imported(caller, project, past(("one", "green"), platform_id="ann"), query="?give_xp=true")

    assert sum(delta for _, delta in deltas(caller, str(ann.pk))) == before + 50


def test_neither_partial_responses_nor_dry_runs_give_anything(caller: Caller, ann: Member) -> None:
    project = survey(caller, QUESTION, giving(xp_amount=50))

    send(caller, project, partial(ONE, platform_id="ann"), query="?give_xp=true")
    send(caller, project, past(ONE, platform_id="ann"), query="?give_xp=true&dry_run=true")

    assert (deltas(caller, str(ann.pk)), participation(caller, ann)) == ([], 0)


def test_anonymous_projects_give_nothing_on_an_import(caller: Caller) -> None:
    project = survey(caller, privacy_mode="anonymous")

    refused = send(caller, project, past(ONE), query="?give_xp=true")

    assert faults(refused) == [(None, "give_xp", "not_allowed")]


@pytest.mark.parametrize(("query", "kinds"), [("", []), ("?give_xp=true", ["poll_vote", "poll_unwind"])])
def test_a_vote_takes_back_what_it_gave_and_nothing_else(
    caller: Caller, ann: Member, query: str, kinds: list[str]
) -> None:
    Talk(caller, survey(caller), member_id=str(ann.pk)).through()  # one participation of another project
    before = deltas(caller, str(ann.pk))
    project = survey(caller, type="poll", settings={"change_poll": True}, rewards={"use_xp": True})
    [vote] = imported(caller, project, past(ONE, platform_id="ann"), query=query)
    between = participation(caller, ann)

    caller.delete(f"/responses/{vote['id']}")

    assert [kind for kind, _ in deltas(caller, str(ann.pk))[len(before) :]] == kinds
    assert sum(delta for _, delta in deltas(caller, str(ann.pk))[len(before) :]) == 0
    assert (between, participation(caller, ann)) == (1 + len(kinds) // 2, 1)


def test_changing_an_imported_vote_gives_nothing_either(caller: Caller, ann: Member) -> None:
    project = survey(caller, type="poll", settings={"change_poll": True}, rewards={"use_xp": True})
    [vote] = imported(caller, project, past(ONE, platform_id="ann"))

    back = caller.post(f"/conversations/{vote['id']}/back").json()
    said = {"block_id": back["step"]["block"]["id"], "value": "green"}
    caller.post(f"/conversations/{vote['id']}/answers", said)
    caller.delete(f"/responses/{vote['id']}")

    assert (deltas(caller, str(ann.pk)), participation(caller, ann)) == ([], 0)


def test_an_import_emits_no_event(caller: Caller) -> None:
    caller.post("/webhooks", EVENTS)
    project = survey(caller)

    imported(caller, project, past(ONE))

    assert not Event.objects.filter(type="response.submitted").exists()


def test_events_that_are_asked_for_hold_the_imported_responses(caller: Caller) -> None:
    caller.post("/webhooks", EVENTS)
    project = survey(caller, QUESTION, {"type": "open_text", "prompt": "Why?", "name": "why"})
    sent = [past(ONE, ("why", "So."), platform_id="ann"), partial(ONE)]

    send(caller, project, *sent, query="?emit_events=true&dry_run=true")
    responses = imported(caller, project, *sent, query="?emit_events=true")

    told = [each["data"] for each in caller.get("/events?type=response.submitted").json()["data"]]
    completed = [each for each in responses if each["status"] == "completed"]
    assert told == [{"project_id": project["id"], "response": each} for each in completed]
    assert Delivery.objects.filter(event__type="response.submitted").count() == 1


def test_an_imported_response_that_is_deleted_is_told_as_any_other(caller: Caller) -> None:
    caller.post("/webhooks", EVENTS)
    project = survey(caller)
    [response] = imported(caller, project, past(ONE))

    caller.delete(f"/responses/{response['id']}")

    assert listed(caller, project) == []
    assert Event.objects.filter(type="response.deleted").count() == 1
