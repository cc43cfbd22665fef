"""Projects answered over the interface, and their results."""

from __future__ import annotations

from typing import Any

from tests.support.caller import Caller

OPEN_WEB = {"audience": {"participation": "open_web"}}
NOTHING = {"distribution": None, "stats": None, "ranking": None, "nps": None, "open_text": None}


def converse(caller: Caller, project: dict[str, Any], answers: list[Any], **who: str) -> dict[str, Any]:
    """A conversation from its first step on, with one answer for each question while there are answers.

    None skips. A number is a point, a text is a value or a text, a list has the values of options. Statements
    are passed without an answer.
    """
    told = caller.post(f"/projects/{project['id']}/conversations", who)
    assert told.status_code == 201, told.content
    talk = told.json()
    for answer in answers:
        talk = _past_statements(caller, talk)
        talk = _moved(caller, talk, "answers", _raw(talk["step"]["block"], answer))
    return _past_statements(caller, talk) if answers else talk


def _past_statements(caller: Caller, talk: dict[str, Any]) -> dict[str, Any]:
    while talk["step"] is not None and talk["step"]["block"]["type"] in ("content_block", "action_block"):
        talk = _moved(caller, talk, "continue", None)
    return talk


def _moved(caller: Caller, talk: dict[str, Any], how: str, body: object) -> dict[str, Any]:
    told = caller.post(f"/conversations/{talk['id']}/{how}", body)
    assert told.status_code == 200, told.content
    return told.json()


def _raw(block: dict[str, Any], answer: object) -> dict[str, Any]:
    if answer is None:
        return {"block_id": block["id"], "skip": True}
    return {"block_id": block["id"], "value": answer}


def results(caller: Caller, project: dict[str, Any], query: str = "") -> dict[str, Any]:
    told = caller.get(f"/projects/{project['id']}/analysis/results{query}")
    assert told.status_code == 200, told.content
    return told.json()


def counts(block: dict[str, Any]) -> dict[str, int]:
    """The number of answers, by the value of the option or point."""
    return {each["value"]: each["count"] for each in block["distribution"]}
