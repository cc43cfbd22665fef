"""A project whose responses have fields, answered over the interface."""

from __future__ import annotations

from typing import Any

from tests.support.caller import Caller
from tests.support.surveys.results import OPEN_WEB

COLOUR = {
    "type": "single_punch",
    "prompt": "Which colour?",
    "options": [{"value": "red"}, {"value": "green"}],
}
STARS = {"type": "rating", "prompt": "How was it?"}
HEIGHT = {"type": "open_numeric", "prompt": "How tall?", "required": False}
# The fields, the colour, the stars, the height.
PEOPLE = [
    ({"customer": "acme", "plan": "pro"}, "red", 3, 1.5),
    ({"customer": "acme"}, "green", 1, 2.5),
    ({"customer": "ACME"}, "green", 2, None),
    ({"customer": "bolt"}, "red", 5, 7.25),
    ({}, "red", 4, None),
]


def made_by(caller: Caller, **fields: Any) -> dict[str, Any]:
    return caller.make_open(COLOUR, STARS, HEIGHT, delivery=OPEN_WEB, **fields)


def answer(caller: Caller, project: dict[str, Any], person: tuple[Any, ...]) -> None:
    sent, *said = person
    talk = caller.post(f"/projects/{project['id']}/conversations", {"metadata": sent}).json()
    for value in said:
        block = talk["step"]["block"]
        given = {"skip": True} if value is None else {"value": value}
        moved = caller.post(f"/conversations/{talk['id']}/answers", {"block_id": block["id"], **given})
        assert moved.status_code == 200, moved.content
        talk = moved.json()
