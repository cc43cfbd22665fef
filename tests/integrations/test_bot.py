"""An integration: a bot that draws each question by itself, from the step alone."""

from __future__ import annotations

from typing import Any

import pytest

from colloquy_client import Colloquy, api
from colloquy_client.types import AnswerRequest, ConversationRequest, SeenItem, Step
from tests.support.caller import Caller

pytestmark = pytest.mark.django_db

OPTIONS = [{"value": "blitz", "label": "Blitz", "emoji": "⚡"}, {"value": "rapid"}, {"value": "daily"}]
BLOCKS: list[dict[str, Any]] = [
    {"type": "content_block", "name": "hello", "prompt": "Hello [UserName]!"},
    {"type": "single_punch", "name": "pace", "prompt": "Your pace?", "options": OPTIONS, "required": True},
    {"type": "multi_punch", "name": "where", "prompt": "Where?", "options": OPTIONS, "max": 2},
    {"type": "rating", "name": "evening", "prompt": "The evening?"},
    {"type": "nps", "name": "friend", "prompt": "Bring a friend?"},
    {"type": "open_numeric", "name": "games", "prompt": "How many games?", "min": 1, "max": 40},
    {"type": "ranking", "name": "order", "prompt": "In which order?", "options": OPTIONS, "rank_top_n": 2},
    {"type": "open_text", "name": "wish", "prompt": "Any wish?", "required": False},
]


class Bot:
    """Speaks in lines of text. It knows nothing of the script: only what each step says."""

    def __init__(self, colloquy: Colloquy, project_id: str) -> None:
        self._colloquy = colloquy
        person: ConversationRequest = {"external_id": "u-7", "display_name": "Kim"}
        self.conversation = colloquy.send(api.conversations_begin(project_id, person))
        self.lines: list[str] = []

    def run(self) -> list[str]:
        while step := self.conversation["step"]:
            self.lines += self.drawn(step)
            answer = self.answer(step)
            here = self.conversation["id"]
            call = api.conversations_answer(here, answer) if answer else api.conversations_continue(here)
            self.conversation = self._colloquy.send(call)
        return self.lines

    @staticmethod
    def drawn(step: Step) -> list[str]:
        block = step["block"]
        lines = [block["prompt"], *([f"({step['help']})"] if step["help"] else [])]
        labels = [
            " ".join(filter(None, [option["emoji"], option["label"] or option["value"]]))
            for option in block["options"] or []
        ]
        if labels:
            lines.append(" | ".join(labels))
        if (scale := block["scale"]) and scale.get("label_left"):
            lines.append(f"{block['min']} = {scale['label_left']}, {block['max']} = {scale['label_right']}")
        go_on = block["continue"]
        buttons = [go_on and go_on.get("label"), step["skip_label"]]
        return [*lines, " ".join(f"[{button}]" for button in buttons if button)]

    @staticmethod
    def answer(step: Step) -> AnswerRequest | None:
        """The first that fits; None for a step that asks nothing. Whatever may be skipped is skipped."""
        block = step["block"]
        here = block["id"]
        if step["skip_label"]:
            return {"block_id": here, "skip": True}
        match block["type"]:
            case "single_punch":
                return {"block_id": here, "option_id": block["options"][0]["id"]}
            case "multi_punch":
                return {"block_id": here, "option_ids": ids(block["options"])[: block["max"]]}
            case "ranking":
                return {"block_id": here, "ranking": ids(block["options"])[: block["rank_top_n"]]}
            case "rating" | "opinion_scale" | "nps":
                return {"block_id": here, "value": block["options"][-1]["value"]}
            case "open_numeric":
                return {"block_id": here, "value": block["min"] or 0}
            case "open_text":
                return {"block_id": here, "value": "Yes."}
        return None


def ids(options: list[SeenItem]) -> list[int]:
    return [each["id"] for each in options]


def test_a_bot_draws_and_answers_a_whole_survey_from_its_steps():
    caller = Caller("creator")
    required = [{**block, "required": block.get("required", True)} for block in BLOCKS[1:]]
    project = caller.make_open(BLOCKS[0], *required, delivery={"audience": {"participation": "open_web"}})

    bot = Bot(caller.colloquy(), project["id"])

    assert bot.run() == [
        "Hello Kim!",
        "[Okay]",
        "Your pace?",
        "⚡ Blitz | rapid | daily",
        "[Continue]",
        "Where?",
        "(Choose up to 2.)",
        "⚡ Blitz | rapid | daily",
        "[Continue]",
        "The evening?",
        "1 | 2 | 3 | 4 | 5",
        "[Continue]",
        "Bring a friend?",
        "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10",
        "0 = Not at all likely, 10 = Extremely likely",
        "[Continue]",
        "How many games?",
        "(A number from 1 to 40.)",
        "[Continue]",
        "In which order?",
        "(Choose your best 2, best first. The others are not counted.)",
        "⚡ Blitz | rapid | daily",
        "[Continue]",
        "Any wish?",
        "[Continue] [Skip]",
    ]
    response = caller.get(f"/responses/{bot.conversation['id']}").json()
    assert response["status"] == "completed"
    assert [(each["block_name"], each["value"]) for each in response["answers"]] == [
        ("pace", "blitz"),
        ("where", "blitz"),
        ("where", "rapid"),
        ("evening", "5"),
        ("friend", "10"),
        ("games", "1"),
        ("order", "1"),
        ("order", "2"),
    ]
