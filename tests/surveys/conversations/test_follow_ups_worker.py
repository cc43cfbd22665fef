"""A further question that a real worker writes, woken over a real broker by an answer."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from celery import current_app
from django.utils import timezone

from surveys.models import Conversation, Generation
from surveys.services.conversations import further
from tests.support.ai.improvisation import improvise
from tests.support.ai.loopback import Loopback
from tests.support.caller import Caller
from tests.support.concurrency import run_together, wait_until
from tests.support.processes import worker_process
from tests.support.surveys import event_log
from tests.support.surveys.follow_ups import (
    CHANGE,
    QUESTION,
    asks,
    caller_with_credits,
    leave,
    model,
    survey,
    write,
)
from tests.support.surveys.participants import a_member, deltas

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


def is_settled(conversation_id: str) -> bool:
    further = Conversation.objects.get(pk=conversation_id).state["further"]
    return bool(further["question"]) or further["until"] == 0


def test_an_answer_wakes_a_worker_whose_model_fails_once(settings: Any) -> None:
    settings.AI_PROVIDER, settings.FOLLOW_UP_SECONDS = "anthropic", 60
    settings.CREDITS_KEPT_FROM_FOLLOW_UPS = 0
    caller = caller_with_credits(1)

    def step_after_an_answer() -> Any:
        begun = caller.post(f"/projects/{survey(caller)}/conversations").json()
        path, block_id = f"/conversations/{begun['id']}", begun["step"]["block"]["id"]
        body = {"block_id": block_id, "value": "The evenings"}
        assert caller.post(f"{path}/answers", body).status_code == 200
        wait_until(lambda: is_settled(begun["id"]))
        return caller.post(f"{path}/continue", {"block_id": block_id}).json()["step"]

    with (
        Loopback() as anthropic,
        worker_process(
            "ai",
            AI_PROVIDER="anthropic",
            CREDITS_KEPT_FROM_FOLLOW_UPS="0",
            ANTHROPIC_API_KEY="sk-ant-test",
            ANTHROPIC_BASE_URL=anthropic.url,
        ),
    ):
        anthropic.queue_error(500, "api_error")
        assert step_after_an_answer()["block"]["prompt"] == "Which colour?"
        caller.community.refresh_from_db()
        assert (len(anthropic.requests), caller.community.bot_credits) == (1, 1)

        anthropic.queue(asks(QUESTION))
        step = step_after_an_answer()
        caller.community.refresh_from_db()
        assert (len(anthropic.requests), caller.community.bot_credits) == (2, 0)
        assert (step["block"]["prompt"], step["follow_up"]) == (QUESTION, 1)


def test_a_question_does_not_wait_for_a_job_that_takes_long(settings: Any) -> None:
    settings.AI_PROVIDER, settings.FOLLOW_UP_SECONDS = "anthropic", 60
    settings.CREDITS_KEPT_FROM_FOLLOW_UPS = 0
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 0
    caller, is_over = caller_with_credits(3), threading.Event()
    begun = caller.post(f"/projects/{survey(caller)}/conversations").json()

    def slow_script(body: Any) -> object:
        is_over.wait()
        return improvise(body)

    with Loopback() as anthropic:
        anthropic.queue(slow_script, asks(QUESTION))
        with worker_process(
            "ai",
            AI_THREADS="1",
            AI_PROVIDER="anthropic",
            CREDITS_KEPT_FROM_FOLLOW_UPS="0",
            ANTHROPIC_API_KEY="sk-ant-test",
            ANTHROPIC_BASE_URL=anthropic.url,
        ):
            try:
                for name in ("One", "Two"):
                    intent = {"name": name, "type": "convo", "intent": "How were the evenings?"}
                    assert caller.post("/projects", intent).status_code == 201
                wait_until(lambda: anthropic.requests)
                body = {"block_id": begun["step"]["block"]["id"], "value": "The evenings"}
                caller.post(f"/conversations/{begun['id']}/answers", body)
                wait_until(lambda: is_settled(begun["id"]))
                running = [*Generation.objects.order_by("pk").values_list("status", flat=True)]
            finally:
                is_over.set()

    assert Conversation.objects.get().state["further"]["question"] == QUESTION
    assert sorted(running) == ["pending", "running"]


def test_workers_and_requests_at_once_ask_and_take_once(settings: Any) -> None:
    caller = caller_with_credits(1)
    with model(settings) as anthropic:
        anthropic.queue(*[asks(f"What do you mean by that, {n}?") for n in range(4)])
        begun = caller.post(f"/projects/{survey(caller)}/conversations").json()
        path, block_id = f"/conversations/{begun['id']}", begun["step"]["block"]["id"]
        caller.post(f"{path}/answers", {"block_id": block_id, "value": "The evenings"})

        run_together(*[lambda: write(begun["id"])] * 4)
        step = caller.post(f"{path}/continue", {"block_id": block_id}).json()["step"]
        body = {"block_id": block_id, "value": "x" * 200, "follow_up": 1}
        callers = [caller.in_another_thread() for _ in range(4)]
        sent = run_together(*[partial(each.post, f"{path}/answers", body) for each in callers])

    caller.community.refresh_from_db()
    assert (caller.community.bot_credits, caller.community.follow_ups_of_ten) == (0, 1)
    assert [answer.json()["step"]["block"]["prompt"] for answer in sent] == ["Which colour?"] * 4
    (answer,) = caller.get(f"/responses/{begun['id']}").json()["answers"]
    assert answer["follow_ups"] == [{"question": step["block"]["prompt"], "answer": "x" * 200}]


def left_by_ann(caller: Caller, is_asked: bool = False) -> tuple[str, int]:
    """The path of a conversation that was left at a further question after the last one, and its block."""
    project_id = survey(caller, CHANGE, rewards={"use_xp": True})
    begun = caller.post(f"/projects/{project_id}/conversations", {"member_id": a_member(caller)}).json()
    path, block_id = f"/conversations/{begun['id']}", begun["step"]["block"]["id"]
    caller.post(f"{path}/answers", {"block_id": block_id, "value": "The evenings"})
    if is_asked:
        write(begun["id"])
    leave(begun["id"])
    return path, block_id


def test_a_worker_ends_a_conversation_that_was_left(settings: Any) -> None:
    caller = caller_with_credits(1)
    event_log.listener(caller.community.pk, "response.submitted")
    with model(settings):
        left_by_ann(caller)
    with worker_process("default"):
        for _ in range(2):
            current_app.send_task("surveys.skip_left_follow_ups")
        wait_until(lambda: Conversation.objects.get().completed_at)

    assert [type_ for type_, _ in event_log.heard(caller.community.pk)] == ["response.submitted"]


def test_a_late_answer_and_the_end_at_once_count_once(settings: Any) -> None:
    caller = caller_with_credits(1)
    event_log.listener(caller.community.pk, "response.submitted")
    with model(settings) as anthropic:
        anthropic.queue(asks(QUESTION))
        path, block_id = left_by_ann(caller, is_asked=True)
        body = {"block_id": block_id, "value": "x" * 200, "follow_up": 1}
        skipped, late, skipped_too = run_together(
            partial(further.skip_left, at=timezone.now()),
            partial(caller.in_another_thread().post, f"{path}/answers", body),
            partial(further.skip_left, at=timezone.now()),
        )

    answer = None if skipped + skipped_too else "x" * 200
    assert (skipped + skipped_too, late.status_code) in [(1, 409), (0, 200)]
    assert [type_ for type_, _ in event_log.heard(caller.community.pk)] == ["response.submitted"]
    (told,) = caller.get(f"/responses/{path.rpartition('/')[2]}").json()["answers"]
    assert told["follow_ups"] == [{"question": QUESTION, "answer": answer}]
    (member,) = caller.community.members.filter(user__name="Ann")
    assert deltas(caller, str(member.pk)) == [("survey_completion", 10)]
