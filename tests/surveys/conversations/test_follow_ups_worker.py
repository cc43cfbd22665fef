"""A further question that a real worker writes, woken over a real broker by an answer."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.models import Conversation
from tests.support.ai.loopback import Loopback
from tests.support.concurrency import wait_until
from tests.support.processes import python_process
from tests.support.surveys.follow_ups import QUESTION, asks, caller_with_credits, survey

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
AI_WORKER = ("manage.py", "worker", "--only", "ai")


def is_settled() -> bool:
    further = Conversation.objects.get().state["further"]
    return bool(further["question"]) or further["until"] == 0


@pytest.mark.parametrize("fault", ["none", "the model fails"])
def test_an_answer_wakes_a_worker(settings: Any, fault: str) -> None:
    settings.AI_PROVIDER, settings.FOLLOW_UP_SECONDS = "anthropic", 60
    caller = caller_with_credits(1)
    begun = caller.post(f"/projects/{survey(caller)}/conversations").json()
    block_id = begun["step"]["block"]["id"]
    with Loopback() as anthropic:
        anthropic.queue(asks(QUESTION)) if fault == "none" else anthropic.queue_error(500, "api_error")
        with python_process(
            *AI_WORKER,
            AI_PROVIDER="anthropic",
            ANTHROPIC_API_KEY="sk-ant-test",
            ANTHROPIC_BASE_URL=anthropic.url,
        ):
            body = {"block_id": block_id, "value": "The evenings"}
            assert caller.post(f"/conversations/{begun['id']}/answers", body).status_code == 200
            wait_until(is_settled)
        asked = len(anthropic.requests)

    step = caller.post(f"/conversations/{begun['id']}/continue", {"block_id": block_id}).json()["step"]
    caller.community.refresh_from_db()
    assert asked == 1
    if fault == "none":
        assert (step["block"]["prompt"], step["follow_up"]) == (QUESTION, 1)
        assert caller.community.bot_credits == 0
    else:
        assert step["block"]["prompt"] == "Which colour?"
        assert caller.community.bot_credits == 1
