"""A script made by a real worker, woken over a real broker, while a request waits for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from surveys.models import Generation
from surveys.services.ai_work import generation
from tests.support.ai.loopback import Loopback
from tests.support.caller import Caller
from tests.support.concurrency import wait_until
from tests.support.processes import python_process, worker_process
from tests.support.surveys.draft_provider import INTENT

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]


@pytest.fixture
def caller(settings) -> Caller:
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 60
    made = Caller()
    made.community.bot_credits = 3
    made.community.save()
    return made


def test_the_local_provider_makes_one_while_the_caller_waits(caller):
    with worker_process("ai"):
        answer = caller.post("/projects", INTENT)

    made = answer.json()
    assert answer.status_code == 201
    assert made["generation"] == {
        "status": "completed",
        "generated_by": "local",
        "error": None,
        "method": "template",
        "confidence": 0.9,
        "understood": ["Questions taken from your sentence: how the club evening was."],
        "unmet": [],
    }
    assert sum(block["type"] != "content_block" for block in made["script"]["blocks"]) == 2


def test_the_anthropic_provider_fails_and_is_paid_nothing(caller, settings, tmp_path: Path):
    settings.AI_PROVIDER = "anthropic"
    with Loopback() as anthropic:
        for _ in range(3):
            anthropic.queue_error(529, "overloaded_error")
        with worker_process("ai", log=tmp_path / "log", **_keys(anthropic)):
            answer = caller.post("/projects", INTENT)

    caller.community.refresh_from_db()
    assert answer.status_code == 503, answer.content
    assert caller.community.bot_credits == 3
    assert INTENT["intent"] not in (tmp_path / "log").read_text()


def test_a_worker_that_is_killed_while_the_model_thinks_loses_nothing(caller, settings):
    settings.AI_PROVIDER = "anthropic"
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 0
    with Loopback() as anthropic:
        anthropic.queue_silence()
        made = caller.post("/projects", INTENT).json()
        with worker_process("ai", **_keys(anthropic)):
            wait_until(lambda: bool(anthropic.requests))
        Generation.objects.update(leased_until=timezone.now())
        with worker_process("ai"):  # by the local provider this time
            wait_until(_is_taken_up)

    project = caller.get(f"/projects/{made['id']}").json()
    assert project["generation"]["status"] == "completed"
    assert project["info"]["block_count"] > 0


def test_a_worker_that_is_told_to_stop_gives_back_what_it_cannot_finish(caller, settings):
    settings.AI_PROVIDER = "anthropic"
    settings.SECONDS_TO_WAIT_FOR_A_SCRIPT = 0
    with Loopback() as anthropic:
        anthropic.queue_silence()
        made = caller.post("/projects", INTENT).json()
        with python_process("manage.py", "worker", "--only", "ai", **_keys(anthropic)) as worker:
            wait_until(lambda: bool(anthropic.requests))
            worker.terminate()
            worker.wait()
        with worker_process("ai"):  # its lease is not waited for
            wait_until(_is_taken_up)

    assert caller.get(f"/projects/{made['id']}").json()["generation"]["status"] == "completed"


def _is_taken_up() -> bool:
    """Wake the worker repeatedly, like the sweep: one wake may still reach the killed worker."""
    generation.take_up(at=timezone.now())
    return not Generation.objects.exists()


def _keys(anthropic: Loopback) -> dict[str, Any]:
    return {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": anthropic.url}
