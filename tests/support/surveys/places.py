"""Projects with limits of completed responses, and those who take their places."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.services.conversations import places
from surveys.services.ground import lookup
from tests.support.caller import Caller, faults
from tests.support.surveys.participants import QUESTION, Talk

COLOUR = {**QUESTION, "name": "colour"}
WHY = {"type": "open_text", "prompt": "Why?", "name": "why"}
WEB = {"audience": {"participation": "open_web"}}
RED = {"where": 'colour = "red"', "limit": 2, "message": "Enough red."}


def open_to_all(caller: Caller, *blocks: Any, **settings: Any) -> Any:
    return caller.make_open(*(blocks or (COLOUR,)), delivery=WEB, settings=settings)


def begin(caller: Caller, project: Any, **more: Any) -> Any:
    return caller.post(f"/projects/{project['id']}/conversations", more)


def answered(caller: Caller, project: Any, value: str, **more: Any) -> Any:
    """The answer of the request that completes a new conversation."""
    talk = Talk(caller, project, **more)
    return caller.post(f"{talk.path}/answers", {"block_id": talk.block["id"], "value": value})


def figures(caller: Caller, project: Any) -> list[tuple[str, int, int]]:
    stored = lookup.get(community_id=caller.community.pk, project_id=int(project["id"]))
    return [(each.where, each.limit, each.filled) for each in places.figures(stored)]


def is_full(answer: Any, field: str) -> bool:
    return (answer.status_code, faults(answer)) == (409, {(field, "full")})


@pytest.fixture
def pages(settings: Any, redis: Any) -> None:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
