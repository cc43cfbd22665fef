"""One move, and moves of one person, at the same time: nothing is given twice, nobody waits for ever."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.support.caller import Caller
from tests.support.concurrency import run_together
from tests.support.surveys.participants import (
    QUESTION,
    Talk,
    a_member,
    deltas,
    giving,
    once_the_hour_is_over,
    standing,
)

pytestmark = pytest.mark.django_db(transaction=True)
THREADS = 8


def test_retries_at_one_time_give_an_end_once() -> None:
    """Rule 8.12."""
    caller = Caller()
    member = a_member(caller)
    talk = Talk(caller, caller.make_open(QUESTION, rewards={"use_xp": True}), member_id=member)
    body = {"block_id": talk.block["id"], "value": "red"}

    answers = run_together(*[lambda: caller.in_another_thread().post(f"{talk.path}/answers", body)] * THREADS)

    assert {answer.json()["status"] for answer in answers} == {"completed"}
    assert deltas(caller, member) == [("survey_completion", 10)]
    assert standing(caller, member)["participation"] == 1


def answer_red(caller: Caller, talk: Talk) -> Any:
    body = {"block_id": talk.block["id"], "value": "red"}
    return caller.in_another_thread().post(f"{talk.path}/answers", body)


@pytest.mark.parametrize("scope", ["respondent", "session"])
def test_retries_at_one_time_reach_an_action_once(scope: str) -> None:
    """Rule 8.12."""
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(QUESTION, giving(xp_amount=5, fire_scope=scope))
    talk = Talk(caller, project, member_id=member)

    answers = run_together(*[partial(answer_red, caller, talk)] * THREADS)

    assert {answer.status_code for answer in answers} == {200}
    assert deltas(caller, member) == [("action_block", 5)]


@pytest.mark.parametrize("scope", ["respondent", "session"])
def test_anonymous_conversations_at_one_time_fire_once_before_one_is_completed(scope: str) -> None:
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(
        QUESTION, giving(xp_amount=5, fire_scope=scope), QUESTION, privacy_mode="anonymous"
    )
    talks = [Talk(caller, project, member_id=member) for _ in range(THREADS)]

    answers = run_together(*[partial(answer_red, caller, talk) for talk in talks])

    assert {answer.status_code for answer in answers} == {200}
    once_the_hour_is_over()
    assert deltas(caller, member) == [("action_block", 5)]


def test_one_member_in_many_projects_at_once_adds_up() -> None:
    caller = Caller()
    member = a_member(caller)
    projects = [
        caller.make_open(QUESTION, giving(xp_amount=n + 1), rewards={"use_xp": True}) for n in range(THREADS)
    ]
    talks = [Talk(caller, project, member_id=member) for project in projects]

    def walk(talk: Talk) -> Any:
        talk.caller = caller.in_another_thread()
        return talk.through()

    run_together(*[partial(walk, talk) for talk in talks])

    assert standing(caller, member)["xp_total"] == sum(range(1, THREADS + 1)) + 10 * THREADS
    assert standing(caller, member)["participation"] == THREADS


def test_votes_and_retractions_at_one_time_leave_what_the_votes_are_worth() -> None:
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(
        QUESTION, type="poll", rewards={"use_xp": True}, settings={"max_completes_per_user": None}
    )
    talks = [Talk(caller, project, member_id=member)]
    talks[0].answer()

    def vote() -> Any:
        twin = caller.in_another_thread()
        begun = twin.post(f"/projects/{project['id']}/conversations", {"member_id": member}).json()
        block = begun["step"] and begun["step"]["block"]["id"]
        return block and twin.post(
            f"/conversations/{begun['id']}/answers", {"block_id": block, "value": "red"}
        )

    run_together(
        *[
            lambda: caller.in_another_thread().delete(f"/responses/{talks[0].told['id']}"),
            *[vote] * (THREADS - 1),
        ]
    )

    kinds = [kind for kind, _ in deltas(caller, member)]
    assert standing(caller, member)["xp_total"] in (0, 10)
    assert kinds.count("poll_unwind") == 1
    assert kinds.count("poll_vote") - 1 == standing(caller, member)["xp_total"] // 10
