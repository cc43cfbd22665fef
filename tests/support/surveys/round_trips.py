"""A project with answers of every kind, its exports, and a copy of it."""

from __future__ import annotations

from typing import Any

from tests.support.caller import Caller
from tests.support.surveys.participants import Talk

COLOURS = [{"value": "red", "label": "Red"}, {"value": "green", "label": "Green"}, {"value": "blue"}]
SCORED = [
    {"value": "right", "score_values": {"skill": 3}},
    {"value": "wrong", "score_values": {"skill": 1}},
]
# One block of each type, and one that an answer hides.
BLOCKS: list[dict[str, Any]] = [
    {"type": "content_block", "prompt": "Welcome."},
    {"type": "single_punch", "name": "one", "prompt": "One?", "required": True, "options": COLOURS},
    {"type": "multi_punch", "name": "many", "prompt": "Many?", "options": COLOURS, "min": 1, "max": 2},
    {
        "type": "open_text",
        "name": "why",
        "prompt": "Why?",
        "show_when": {"variable": "one", "op": "eq", "value": "red"},
    },
    {"type": "open_numeric", "name": "count", "prompt": "How many?", "min": 0},
    {"type": "rating", "name": "stars", "prompt": "Stars?", "required": True},
    {"type": "opinion_scale", "name": "scale", "prompt": "Scale?"},
    {"type": "nps", "name": "nps", "prompt": "Recommend?"},
    {"type": "ranking", "name": "order", "prompt": "Rank.", "options": COLOURS},
    {"type": "calculated_block", "name": "double", "prompt": "", "calculated_formula": "[count] * 2"},
    {
        "type": "action_block",
        "prompt": "Here.",
        "action_kind": "give_xp",
        "action_config": {"xp_amount": 5},
    },
]
WEB = {"delivery": {"audience": {"participation": "open_web"}}}


def block_of(project: dict[str, Any], name: str) -> Any:
    return next(each for each in project["script"]["blocks"] if each["name"] == name)


def option(project: dict[str, Any], name: str, *places: int) -> list[int]:
    return [block_of(project, name)["options"][place]["id"] for place in places]


def walk(caller: Caller, project: dict[str, Any], said: dict[str, Any], **who: Any) -> None:
    """A conversation with these answers; questions without one are skipped, until `stop`."""
    talk = Talk(caller, project, **who)
    while talk.told["step"] is not None:
        name = talk.block["name"]
        if name == said.get("stop"):
            return
        if talk.block["type"] in ("content_block", "action_block"):
            talk.go_on()
            continue
        body = {"block_id": talk.block["id"], **said.get(name, {"skip": True})}
        talk._moved(caller.post(f"{talk.path}/answers", body))


def answered_by_many(caller: Caller) -> dict[str, Any]:
    project = caller.make_open(*BLOCKS, name="Original", **WEB)
    every = {
        "one": {"value": "red"},
        "many": {"option_ids": option(project, "many", 2, 0)},
        "why": {"value": "Because = “it is”,\nsaid 'she' \N{SNOWMAN}"},
        "count": {"value": "2.50"},
        "stars": {"value": 4},
        "scale": {"value": 0},
        "nps": {"value": 10},
        "order": {"ranking": option(project, "order", 1, 2, 0)},
    }
    walk(caller, project, every, external_id="ann", metadata={"campaign": "mail"})
    least = {"one": {"value": "green"}, "stars": {"value": 1}}
    walk(caller, project, least, external_id="bob")
    walk(caller, project, least)
    walk(caller, project, every | {"stop": "scale"}, external_id="cem")
    walk(caller, project, every | {"count": {"value": "1000000"}}, external_id="ann")
    return project


def exported(caller: Caller, project: dict[str, Any], format: str) -> bytes:
    answer = caller.get(f"/projects/{project['id']}/responses/export?format={format}")
    return bytes(b"".join(answer))


def copied(caller: Caller, project: dict[str, Any]) -> Any:
    answer = caller.post(f"/projects/{project['id']}/clone")
    assert answer.status_code == 201, answer.content
    return answer.json()
