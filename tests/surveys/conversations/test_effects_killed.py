"""A process is really killed between each two steps of a move that gives something; it is made again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper

from surveys.models import FiredAction
from surveys.services.conversations import completions, repository
from tests.support.caller import Caller
from tests.support.kills import die, dying_after, in_a_process_that_dies
from tests.support.surveys import event_log
from tests.support.surveys.participants import QUESTION, Talk, a_member, deltas, giving, standing
from webhooks.services import outbox
from xp.models import EarnedAchievement, RoleGrant
from xp.services import achievements, ledger, roles

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]

# The moment at which the process dies: before the step, or after it.
COMMON: dict[str, tuple[Any, str]] = {
    "the XP": (ledger, "award"),
    "the commit": (BaseDatabaseWrapper, "commit"),
}
OF_A_MOVE = COMMON | {
    "the note that it fires": (completions, "fire"),
    "the conversation": (repository, "save"),
}
OF_THE_END = COMMON | {
    "the limit and the notes that it fires": (completions, "complete"),
    "the achievement": (achievements, "grant"),
    "the role": (roles, "grant"),
    "the participation": (ledger, "count_participation"),
    "the conversation": (repository, "save_last"),
    "the event": (outbox, "emit_many"),
}
REWARDS = {"use_xp": True, "achievement_enabled": True, "discord_role_id": "88"}


def gained(caller: Caller, member: str) -> tuple[object, ...]:
    return (
        deltas(caller, member),
        standing(caller, member)["participation"],
        EarnedAchievement.objects.count(),
        RoleGrant.objects.count(),
        FiredAction.objects.count(),
        [type for type, _ in event_log.heard(caller.community.pk)].count("response.submitted"),
    )


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", OF_THE_END)
def test_an_end_killed_at_any_step_gives_everything_once(
    step: str, is_after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = Caller()
    event_log.listener(caller.community.pk)
    member = a_member(caller)
    talk = Talk(caller, caller.make_open(QUESTION, rewards=REWARDS), member_id=member)
    nothing, everything = gained(caller, member), ([("survey_completion", 10)], 1, 1, 1, 3, 1)
    where, name = OF_THE_END[step]
    body = {"block_id": talk.block["id"], "value": "red"}

    with monkeypatch.context() as killing:
        killing.setattr(where, name, dying_after(getattr(where, name)) if is_after else die)
        in_a_process_that_dies(lambda: caller.post(f"{talk.path}/answers", body))

    assert nothing == ([], 0, 0, 0, 0, 0)
    assert gained(caller, member) == (everything if (step, is_after) == ("the commit", True) else nothing)

    for _ in range(2):
        assert caller.post(f"{talk.path}/answers", body).json()["status"] == "completed"
    assert gained(caller, member) == everything


@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", OF_A_MOVE)
@pytest.mark.parametrize("move", ["begin", "answer"])
def test_an_action_block_killed_at_any_step_fires_once(
    move: str, step: str, is_after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = Caller()
    member = a_member(caller)
    blocks = [giving(xp_amount=5), QUESTION]
    project = caller.make_open(*(blocks if move == "begin" else reversed(blocks)))
    path = f"/projects/{project['id']}/conversations"
    make: Callable[[], Any] = lambda: caller.post(path, {"member_id": member})  # noqa: E731
    if move == "answer":
        talk = Talk(caller, project, member_id=member)
        body = {"block_id": talk.block["id"], "value": "red"}
        make = lambda: caller.post(f"{talk.path}/answers", body)  # noqa: E731
    where, name = OF_A_MOVE[step]

    with monkeypatch.context() as killing:
        killing.setattr(where, name, dying_after(getattr(where, name)) if is_after else die)
        in_a_process_that_dies(make)

    is_done = (step, is_after) == ("the commit", True)
    assert deltas(caller, member) == ([("action_block", 5)] if is_done else [])

    for _ in range(2):
        assert make().status_code in (200, 201)
    assert deltas(caller, member) == [("action_block", 5)]
