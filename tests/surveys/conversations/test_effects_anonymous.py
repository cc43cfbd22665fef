"""The gifts of anonymous conversations, which no row joins to the answers (rules 7.5 and 7.10)."""

from __future__ import annotations

import pytest

from surveys.models import Conversation, FiredAction
from tests.support.caller import TEXT, Caller
from tests.support.surveys.participants import (
    QUESTION,
    XP_BLOCK,
    Talk,
    a_member,
    deltas,
    giving,
    ledger,
    once_the_hour_is_over,
)
from xp.models import EarnedAchievement, RoleGrant

pytestmark = pytest.mark.django_db

WEIGHED = {
    **QUESTION,
    "options": [{"value": "red", "score_values": {"score": 12.5}}, {"value": "green"}],
}


def test_an_anonymous_project_gives_without_a_trace_beside_the_answers() -> None:
    caller = Caller()
    member = a_member(caller)
    prompt = "[xp_points], [earned_xp], [month_total_xp]."
    project = caller.make_open(
        {**XP_BLOCK, "prompt": prompt},
        QUESTION,
        rewards={"use_xp": True, "achievement_enabled": True, "discord_role_id": "5"},
        privacy_mode="anonymous",
    )

    talk = Talk(caller, project, member_id=member)
    assert talk.prompt == "50, 50, ."
    assert caller.get(talk.path).json()["step"]["block"]["prompt"] == "50, 50, ."
    talk.through()

    assert [block["name"] for block in talk.told["outro"]] == ["thank_you", "xp", "achievement", "role"]
    assert [block["name"] for block in caller.get(talk.path).json()["outro"]] == ["thank_you"]
    assert ledger(caller, member) == []
    once_the_hour_is_over()
    told = ledger(caller, member)
    assert sorted((e["source_kind"], e["delta"], e["session_number"]) for e in told) == [
        ("action_block", 50, None),
        ("survey_completion", 10, None),
    ]
    assert all(entry["created_at"].endswith("T00:00:00Z") for entry in told)
    assert EarnedAchievement.objects.get().awarded_at.hour == 0
    assert RoleGrant.objects.get().created_at.hour == 0
    assert "fired" not in Conversation.objects.get().state
    scopes = set(FiredAction.objects.values_list("scope", flat=True))
    assert Conversation.objects.get().pk.hex not in "".join(scopes)


@pytest.mark.parametrize(("scope", "fired"), [("respondent", 1), ("session", 2)])
def test_anonymous_sessions_fire_by_their_scope_too(scope: str, fired: int) -> None:
    caller = Caller()
    member = a_member(caller)
    block = giving(xp_amount=5, fire_scope=scope)
    project = caller.make_open(QUESTION, block, TEXT, privacy_mode="anonymous")

    for _ in range(2):
        talk = Talk(caller, project, member_id=member)
        talk.answer()
        talk.back()
        talk.answer()
        talk.through()

    once_the_hour_is_over()
    assert deltas(caller, member) == [("action_block", 5)] * fired


def test_an_anonymous_score_is_not_given_as_xp() -> None:
    caller = Caller()
    member = a_member(caller)
    block = {**giving(source_key="score"), "prompt": "[xp_points]"}
    project = caller.make_open(WEIGHED, block, scoring_enabled=True, privacy_mode="anonymous")
    talk = Talk(caller, project, member_id=member)

    talk.answer()

    assert talk.prompt == "0"
    once_the_hour_is_over()
    assert deltas(caller, member) == []


def test_an_anonymous_action_behind_a_condition_gives_nothing() -> None:
    caller = Caller()
    member = a_member(caller)
    shown = {"show_when": {"block": "q0", "op": "eq", "value": "red"}}
    blocks = [
        {**XP_BLOCK, "prompt": "[xp_points]", **shown},
        {**giving("give_achievement", xp_role_id=3), **shown},
        {**giving("give_role", role_id="9"), **shown},
    ]
    talk = Talk(caller, caller.make_open(QUESTION, *blocks, privacy_mode="anonymous"), member_id=member)

    talk.answer()

    assert talk.prompt == "0"
    talk.through()
    once_the_hour_is_over()
    assert deltas(caller, member) == []
    assert not EarnedAchievement.objects.exists()
    assert not RoleGrant.objects.exists()


def test_a_second_anonymous_session_is_told_that_it_earns_nothing_more() -> None:
    caller = Caller()
    member = a_member(caller)
    each_time = {**giving(xp_amount=3, fire_scope="session"), "prompt": "[xp_points]"}
    blocks = [{**XP_BLOCK, "prompt": "[xp_points]"}, each_time, QUESTION]
    project = caller.make_open(*blocks, privacy_mode="anonymous")
    Talk(caller, project, member_id=member).through()

    talk = Talk(caller, project, member_id=member)

    assert talk.prompt == caller.get(talk.path).json()["step"]["block"]["prompt"] == "0"
    talk.go_on()
    assert talk.prompt == "3"
    once_the_hour_is_over()
    assert sorted(deltas(caller, member)) == [("action_block", 3), ("action_block", 3), ("action_block", 50)]


def test_beginning_an_anonymous_conversation_again_and_again_is_worth_nothing() -> None:
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(giving(xp_amount=5, fire_scope="session"), QUESTION, privacy_mode="anonymous")

    for _ in range(3):
        Talk(caller, project, member_id=member)

    once_the_hour_is_over()
    assert deltas(caller, member) == [("action_block", 5)]
