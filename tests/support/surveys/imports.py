"""Responses to import, and requests that import them."""

from __future__ import annotations

from typing import Any

import orjson

from tests.support.caller import Caller

STARTED, SUBMITTED = "2025-05-01T08:00:00Z", "2025-05-01T08:05:00Z"
LINES = "application/x-ndjson"


def past(*answers: Any, **fields: Any) -> dict[str, Any]:
    """A completed response of the past. An answer is a block's name with a value, or the whole object."""
    return {
        "started_at": STARTED,
        "submitted_at": SUBMITTED,
        "answers": [
            {"block_name": each[0], "value": each[1]} if isinstance(each, tuple) else each for each in answers
        ],
        **fields,
    }


def partial(*answers: Any, **fields: Any) -> dict[str, Any]:
    return past(*answers, submitted_at=None, **fields)


def send(caller: Caller, project: Any, *responses: Any, query: str = "", **headers: str) -> Any:
    """An import as JSON."""
    return caller.post(f"/projects/{project['id']}/responses{query}", {"data": list(responses)}, **headers)


def send_lines(caller: Caller, project: Any, lines: bytes, *, query: str = "", **headers: str) -> Any:
    """An import as NDJSON."""
    return caller.client.generic(
        "POST",
        f"/v1/communities/{caller.community.pk}/projects/{project['id']}/responses{query}",
        lines,
        LINES,
        headers={"X-API-Key": caller.secret, **headers},
    )


def as_lines(*responses: Any) -> bytes:
    return b"\n".join(orjson.dumps(each) for each in responses)


def imported(caller: Caller, project: Any, *responses: Any, query: str = "") -> list[Any]:
    """Import the responses, and return all responses of the project from the listing."""
    answer = send(caller, project, *responses, query=query)
    assert answer.status_code == 201, answer.content
    assert answer.json() == {"imported": len(responses)}
    return listed(caller, project)


def listed(caller: Caller, project: Any, query: str = "") -> list[Any]:
    answer = caller.get(f"/projects/{project['id']}/responses?per_page=100{query}")
    assert answer.status_code == 200, answer.content
    return list(answer.json()["data"])


def faults(answer: Any) -> list[tuple[int | None, str, str]]:
    """Line, field and code of each violation of a refused import."""
    assert answer.status_code == 400, answer.content
    return [(each.get("line"), each["field"], each["code"]) for each in answer.json()["violations"]]


def answers_of(response: Any) -> list[tuple[str, Any]]:
    return [(each["block_name"], each["value"]) for each in response["answers"]]
