"""A survey with further questions, and a model that writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from surveys.models import Conversation
from surveys.services.ai_work import follow_ups
from tests.support.ai.at_work import claude_at_work
from tests.support.ai.loopback import Loopback
from tests.support.caller import Caller

CHANGE: dict[str, Any] = {
    "name": "change",
    "type": "open_text",
    "prompt": "What should we change?",
    "required": True,
    "follow_ups": 2,
}
COLOUR: dict[str, Any] = {"name": "colour", "type": "open_text", "prompt": "Which colour?", "required": True}
QUESTION = "What about the evenings would you like to be different?"
SECOND = "Which time would suit you?"


@contextmanager
def model(settings: Any) -> Iterator[Loopback]:
    """A model: the real client, with a server of queued answers. No answer is late, and no credit is kept."""
    settings.FOLLOW_UP_SECONDS, settings.CREDITS_KEPT_FROM_FOLLOW_UPS = 60, 0
    with claude_at_work(settings) as loopback:
        yield loopback


def asks(question: str) -> dict[str, object]:
    """The answer of a model that asks a further question."""
    return {"is_clear": False, "question": question}


def caller_with_credits(credits: int = 5) -> Caller:
    caller = Caller("admin")
    caller.community.bot_credits = credits
    caller.community.save()
    return caller


def survey(caller: Caller, *blocks: dict[str, Any], **fields: Any) -> str:
    """The id of an open survey for everybody on the web."""
    body = {"name": "Evenings", "type": "convo", "script": {"blocks": list(blocks or (CHANGE, COLOUR))}}
    made = caller.post("/projects", {**body, **fields})
    assert made.status_code == 201, made.json()
    project_id: str = made.json()["id"]
    caller.patch(f"/projects/{project_id}", {"delivery": {"audience": {"participation": "open_web"}}})
    assert caller.post(f"/projects/{project_id}/open").status_code == 200
    return project_id


def write(conversation_id: object, *, asked: int = 1, now: Callable[[], datetime] = timezone.now) -> None:
    """Do the worker's task for the `asked`-th further question of a conversation."""
    follow_ups.ask(conversation_id=UUID(str(conversation_id)), asked=asked, now=now)


def run_out(conversation_id: object) -> None:
    """Let the time for writing a further question expire."""
    conversation = Conversation.objects.get(pk=UUID(str(conversation_id)))
    conversation.state["further"]["until"] = 1
    conversation.save(update_fields=["state"])


def leave(conversation_id: object, *, minutes: int = 30) -> None:
    """Let so many minutes pass since the latest move of a conversation."""
    at = timezone.now() - timedelta(minutes=minutes)
    Conversation.objects.filter(pk=UUID(str(conversation_id))).update(updated_at=at)
