"""The effects of conversations: XP, achievements, roles, participation (chapter 8)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from surveys.models import FiredAction
from surveys.services.conversations import admission, moves
from surveys.services.conversations import service as conversations
from tests.support.caller import TEXT, Caller
from tests.support.moments import NOON
from tests.support.surveys import scenario
from tests.support.surveys.participants import (
    QUESTION,
    XP_BLOCK,
    Talk,
    a_member,
    deltas,
    giving,
    ledger,
    standing,
)
from xp.models import RoleGrant, XpEntry

pytestmark = pytest.mark.django_db

WEIGHED = {
    **QUESTION,
    "options": [{"value": "red", "score_values": {"score": 12.5}}, {"value": "green"}],
}


# --- XP within a script ------------------------------------------------------------------------------------


def test_an_action_block_gives_its_xp_when_it_is_reached() -> None:
    """Rule 8.11."""
    caller = Caller()
    project = caller.make_open(QUESTION, XP_BLOCK, TEXT)
    member = a_member(caller)
    talk = Talk(caller, project, member_id=member)
    assert deltas(caller, member) == []

    talk.answer()

    assert talk.prompt == "You get 50 XP."
    assert ledger(caller, member) == [
        {
            "id": ledger(caller, member)[0]["id"],
            "delta": 50,
            "balance_after": 50,
            "source_kind": "action_block",
            "source_ref": int(project["id"]),
            "session_number": None,
            "actor_name": None,
            "actor_pseudonym": None,
            "survey_name": "Opening moves",
            "note": None,
            "created_at": ledger(caller, member)[0]["created_at"],
        }
    ]


def test_it_gives_nothing_more_however_often_the_step_is_passed() -> None:
    caller = Caller()
    talk = Talk(caller, caller.make_open(QUESTION, XP_BLOCK, TEXT), member_id=(member := a_member(caller)))

    talk.answer()
    talk.go_on()
    talk.back()
    talk.back()
    talk.answer("green")
    talk.begin(member_id=member)

    assert talk.prompt == "You get 50 XP."
    assert deltas(caller, member) == [("action_block", 50)]


@pytest.mark.parametrize(("scope", "fired"), [(None, 1), ("respondent", 1), ("session", 2)])
def test_the_scope_says_whether_each_session_fires(scope: str | None, fired: int) -> None:
    """Rule 8.11."""
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(QUESTION, giving(xp_amount=5, fire_scope=scope))

    for _ in range(2):
        Talk(caller, project, member_id=member).through()

    assert deltas(caller, member) == [("action_block", 5)] * fired


def test_a_second_session_is_told_that_it_earns_nothing_more() -> None:
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(QUESTION, {**XP_BLOCK, "prompt": "[xp_points] of [earned_xp]"})
    Talk(caller, project, member_id=member).through()

    talk = Talk(caller, project, member_id=member)
    talk.answer()

    assert talk.prompt == "0 of 0"


def test_a_score_is_given_as_xp_rounded_half_up() -> None:
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(WEIGHED, giving(source_key="score"), scoring_enabled=True)

    Talk(caller, project, member_id=member).through()

    assert deltas(caller, member) == [("action_block", 13)]


def test_tokens_tell_what_was_earned_and_how_one_stands() -> None:
    """Rule 4.30."""
    caller = Caller(xp_name="Tempi")
    member = a_member(caller)
    caller.post(f"/members/{member}/xp", {"amount": 90})
    words = "[xp_points] [xp_name], [earned_xp], [month_total_xp]; [xp_to_next_level], [next_xp_level]"
    block = {**giving(xp_amount=20), "prompt": words}
    project = caller.make_open(XP_BLOCK, block, QUESTION)

    talk = Talk(caller, project, member_id=member)
    talk.go_on()

    assert talk.prompt == "20 Tempi, 70, 160; 140, 2"


def test_xp_points_stand_as_written_where_no_action_speaks() -> None:
    caller = Caller()
    project = caller.make_open({**QUESTION, "prompt": "[xp_points] or [earned_xp]?"})

    assert Talk(caller, project, member_id=a_member(caller)).prompt == "[xp_points] or 0?"


@pytest.mark.parametrize("who", [{}, {"external_id": "customer-42"}])
def test_strangers_earn_nothing_and_are_told_so(who: dict[str, str]) -> None:
    caller = Caller()
    project = caller.make(QUESTION, XP_BLOCK, rewards={"use_xp": True, "discord_role_id": "9"})
    caller.post(f"/projects/{project['id']}/open", {"delivery": {"audience": {"participation": "open_web"}}})
    talk = Talk(caller, project, **who)

    talk.answer()

    assert talk.prompt == "You get 0 XP."
    assert [block["name"] for block in talk.go_on()["outro"]] == ["thank_you"]
    assert not XpEntry.objects.exists()
    assert not FiredAction.objects.exists()


def test_a_community_without_xp_gives_none() -> None:
    """Rule 8.13."""
    caller = Caller(use_xp=False)
    member = a_member(caller)
    project = caller.make_open(QUESTION, XP_BLOCK, rewards={"use_xp": True})
    talk = Talk(caller, project, member_id=member)

    talk.answer()

    assert talk.prompt == "You get 0 XP."
    assert [block["name"] for block in talk.go_on()["outro"]] == ["thank_you"]
    assert deltas(caller, member) == []
    assert standing(caller, member)["participation"] == 1


def test_in_script_xp_is_given_whether_or_not_the_project_uses_xp() -> None:
    """Rule 8.13."""
    caller = Caller()
    member = a_member(caller)

    for uses_xp in (False, True):
        Talk(
            caller, caller.make_open(QUESTION, XP_BLOCK, rewards={"use_xp": uses_xp}), member_id=member
        ).through()

    assert deltas(caller, member) == [
        ("action_block", 50),
        ("action_block", 50),
        ("survey_completion", 10),
    ]


# --- At the end --------------------------------------------------------------------------------------------


def test_the_end_gives_so_much_for_each_question_once() -> None:
    caller = Caller(xp_per_question=7)
    member = a_member(caller)
    project = caller.make_open(
        QUESTION, TEXT, {"type": "content_block", "prompt": "Hm."}, rewards={"use_xp": True}
    )

    talk = Talk(caller, project, member_id=member)
    talk.through()
    Talk(caller, project, member_id=member).through()

    assert [(block["name"], block["prompt"]) for block in talk.told["outro"]] == [
        ("thank_you", "Thank you! Your answers have been saved."),
        ("xp", "You have earned 14 XP."),
    ]
    assert [(e["source_kind"], e["delta"], e["session_number"]) for e in ledger(caller, member)] == [
        ("survey_completion", 14, 1)
    ]
    assert standing(caller, member)["participation"] == 2


def test_the_amount_is_that_of_the_moment() -> None:
    caller = Caller(xp_per_question=7)
    member = a_member(caller)
    project = caller.make_open(QUESTION, rewards={"use_xp": True})
    caller.patch("/settings", {"xp_per_question": 9})

    Talk(caller, project, member_id=member).through()

    assert deltas(caller, member) == [("survey_completion", 9)]


def test_the_end_grants_the_project_s_achievement_and_its_role_once() -> None:
    caller = Caller()
    member = a_member(caller)
    rewards = {"achievement_enabled": True, "achievement_role_id": "77", "discord_role_id": "88"}
    project = caller.make_open(QUESTION, rewards=rewards)

    for _ in range(2):
        Talk(caller, project, member_id=member).through()

    (earned,) = standing(caller, member)["achievements"]
    number = project["rewards"]["achievement_id"]
    assert earned == {
        "id": number,
        "name": "Completed: Opening moves",
        "image_url": f"http://127.0.0.1:8000/badges/{number}.svg",
        "project_id": project["id"],
        "awarded_at": earned["awarded_at"],
    }
    assert set(RoleGrant.objects.values_list("role_id", "carried_out_at")) == {("77", None), ("88", None)}


def test_an_achievement_is_called_and_looks_as_the_rewards_say() -> None:
    caller = Caller()
    member = a_member(caller)
    rewards = {
        "achievement_enabled": True,
        "achievement_name": "Opening expert",
        "achievement_image_url": "https://example.com/badge.png",
    }

    Talk(caller, caller.make_open(QUESTION, rewards=rewards), member_id=member).through()

    (earned,) = standing(caller, member)["achievements"]
    assert (earned["name"], earned["image_url"]) == ("Opening expert", "https://example.com/badge.png")


def test_an_achievement_is_called_after_its_project_also_when_that_is_renamed() -> None:
    caller = Caller()
    member = a_member(caller)
    project = caller.make(QUESTION, rewards={"achievement_enabled": True})
    caller.patch(f"/projects/{project['id']}", {"name": "Endgames [a]"})
    caller.post(f"/projects/{project['id']}/open")

    talk = Talk(caller, project, member_id=member)
    talk.through()

    assert talk.told["outro"][1]["prompt"] == "You have earned the achievement “Completed: Endgames (a)”."
    assert standing(caller, member)["achievements"][0]["name"] == "Completed: Endgames [a]"
    assert caller.get("/achievements").json()["data"][0]["name"] == "Completed: Endgames [a]"


def test_a_project_is_not_given_a_number_that_a_script_names() -> None:
    caller = Caller()
    member = a_member(caller)
    quiz = caller.make_open(QUESTION, giving("give_achievement", xp_role_id=1))
    other = caller.make(QUESTION, rewards={"achievement_enabled": True})

    Talk(caller, quiz, member_id=member).through()

    assert other["rewards"]["achievement_id"] == "2"
    assert standing(caller, member)["achievements"][0]["name"] == "Achievement 1"


def test_an_in_script_achievement_is_granted_by_its_number() -> None:
    """Rule 8.11."""
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(QUESTION, giving("give_achievement", xp_role_id=7))

    Talk(caller, project, member_id=member).through()

    (earned,) = standing(caller, member)["achievements"]
    assert (earned["id"], earned["name"], earned["project_id"]) == ("7", "Achievement 7", project["id"])


def test_an_in_script_role_waits_for_a_platform() -> None:
    """Rule 8.11."""
    caller = Caller()
    project = caller.make_open(QUESTION, giving("give_role", role_id="1187"))

    Talk(caller, project, member_id=a_member(caller)).through()

    grant = RoleGrant.objects.get()
    assert (grant.role_id, grant.project_id, grant.is_waiting) == ("1187", int(project["id"]), True)


# --- Scripts written anew meanwhile ------------------------------------------------------------------------


def test_an_action_that_was_put_before_a_waiting_respondent_fires_when_it_is_left() -> None:
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(QUESTION, TEXT)
    talk = Talk(caller, project, member_id=member)
    talk.answer()
    question, text = caller.get(f"/projects/{project['id']}/script").json()["blocks"]
    caller.post(f"/projects/{project['id']}/close")
    caller.put(f"/projects/{project['id']}/script", {"blocks": [question, XP_BLOCK, text]})
    caller.post(f"/projects/{project['id']}/open")

    talk.go_on()

    assert deltas(caller, member) == [("action_block", 50)]


@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_the_past_costs_the_same_however_long_it_is(
    privacy_mode: str,
) -> None:
    caller = Caller()
    words = "[UserName], [xp_points] [xp_name], [month_total_xp]"
    costs = []
    for count in (1, 10):
        blocks = [{**giving(xp_amount=n + 1), "prompt": words} for n in range(count)]
        talk = Talk(
            caller, caller.make_open(*blocks, QUESTION, privacy_mode=privacy_mode), member_id=a_member(caller)
        )
        for _ in range(count):
            talk.go_on()
        told = conversations.get(conversation_id=talk.told["id"], at=NOON)
        with CaptureQueriesContext(connection) as captured:
            assert len(told.history()) == count
        costs.append(len(captured))

    assert costs[0] == costs[1]


# --- What it costs -----------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)  # what is kept in memory is kept once it is committed
@pytest.mark.parametrize(("fields", "most"), [({"type": "poll"}, 6), ({}, 8)], ids=["vote", "last answer"])
def test_giving_all_there_is_stays_within_the_statements_allowed(fields: dict[str, Any], most: int) -> None:
    caller = Caller()
    member = admission.member(community_id=caller.community.pk, member_id=a_member(caller))
    earlier, made = (caller.make_open(QUESTION, rewards={"use_xp": True}, **fields) for _ in range(2))

    for project in (earlier, made):  # the earlier one makes the member's standing
        project_id = int(project["id"])
        block = caller.get(f"/projects/{project_id}/script").json()["blocks"][0]
        raw = {"block_id": block["id"], "value": "red"}
        if fields:
            with scenario.at_most(most if project is made else 20):
                conversations.vote(project_id=project_id, respondent=member, raw=raw, at=NOON)
        else:
            told = conversations.begin(project_id=project_id, respondent=member, at=NOON)
            with scenario.at_most(most if project is made else 20):
                moves.answer(conversation_id=told.conversation.pk, raw=raw, at=NOON)
