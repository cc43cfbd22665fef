"""The effects of votes, and of taking them back (rules 6.32 and 8.15 to 8.17)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.caller import Caller
from tests.support.surveys.participants import (
    QUESTION,
    Talk,
    a_member,
    deltas,
    ledger,
    standing,
)

pytestmark = pytest.mark.django_db


def poll(caller: Caller, **fields: Any) -> dict[str, Any]:
    return caller.make_open(QUESTION, type="poll", rewards={"use_xp": True}, **fields)


def test_a_vote_gives_its_xp_in_place_of_an_outro_block() -> None:
    caller = Caller()
    member = a_member(caller)

    talk = Talk(caller, poll(caller), member_id=member)
    talk.answer()

    assert [(e["source_kind"], e["delta"], e["session_number"]) for e in ledger(caller, member)] == [
        ("poll_vote", 10, 1)
    ]
    assert [block["name"] for block in talk.told["outro"]] == ["thank_you"]


def test_a_changed_vote_gives_nothing_more() -> None:
    caller = Caller()
    member = a_member(caller)
    talk = Talk(caller, poll(caller, settings={"change_poll": True}), member_id=member)

    talk.answer()
    talk.back()
    talk.answer("green")

    assert deltas(caller, member) == [("poll_vote", 10)]
    assert standing(caller, member)["participation"] == 1


def test_a_vote_taken_back_takes_its_xp_back_and_may_be_given_anew() -> None:
    """Rule 6.50."""
    caller = Caller()
    member = a_member(caller)
    project = poll(caller, settings={"change_poll": True})
    talk = Talk(caller, project, member_id=member)
    talk.answer()

    assert caller.delete(f"/responses/{talk.told['id']}").status_code == 204
    assert (standing(caller, member)["xp_total"], standing(caller, member)["participation"]) == (0, 0)
    Talk(caller, project, member_id=member).answer()

    assert deltas(caller, member) == [("poll_vote", 10), ("poll_unwind", -10), ("poll_vote", 10)]
    assert standing(caller, member)["participation"] == 1


def test_deleting_a_vote_that_gave_nothing_does_not_pay_the_first_again() -> None:
    caller = Caller()
    member = a_member(caller)
    project = poll(caller, settings={"max_completes_per_user": None})
    Talk(caller, project, member_id=member).answer()
    second = Talk(caller, project, member_id=member)
    second.answer()

    caller.delete(f"/responses/{second.told['id']}")
    Talk(caller, project, member_id=member).answer()

    assert deltas(caller, member) == [("poll_vote", 10)]


def test_unwinding_takes_no_more_than_there_is() -> None:
    caller = Caller()
    member = a_member(caller)
    talk = Talk(caller, poll(caller), member_id=member)
    talk.answer()
    caller.post(f"/members/{member}/xp", {"amount": -6})

    caller.delete(f"/responses/{talk.told['id']}")

    assert deltas(caller, member)[-1] == ("poll_unwind", -4)
    assert standing(caller, member)["xp_total"] == 0


def test_deleting_a_survey_s_response_leaves_its_xp() -> None:
    """Rule 6.50."""
    caller = Caller()
    member = a_member(caller)
    talk = Talk(caller, caller.make_open(QUESTION, rewards={"use_xp": True}), member_id=member)
    talk.through()

    caller.delete(f"/responses/{talk.told['id']}")

    assert deltas(caller, member) == [("survey_completion", 10)]
    assert standing(caller, member)["participation"] == 1
