"""One respondent before an instrument: its questions answered by name, what it says remembered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.caller import Caller


def build(caller: Caller, project: Mapping[str, Any]) -> dict[str, Any]:
    """Create a project by the interface and open it to anybody."""
    answer = caller.post("/projects", project)
    assert answer.status_code == 201, answer.content
    return opened(caller, answer.json())


def opened(caller: Caller, made: dict[str, Any]) -> dict[str, Any]:
    """The same project, open to anybody."""
    audience = {"delivery": {"audience": {"participation": "open_web"}}}
    answer = caller.post(f"/projects/{made['id']}/open", audience)
    assert answer.status_code == 200, answer.content
    return made | answer.json()


class Sitting:
    """A conversation over the interface. `said` holds, by block name, the prompts met on the way."""

    def __init__(self, caller: Caller, made: Mapping[str, Any], **respondent: str) -> None:
        self.caller = caller
        answer = caller.post(f"/projects/{made['id']}/conversations", respondent)
        assert answer.status_code in (200, 201), answer.content
        self.met: list[str] = []
        self.said: dict[str, str] = {}
        self._take(answer.json())

    @property
    def block(self) -> dict[str, Any]:
        """The block that waits for the respondent."""
        return self.told["step"]["block"]

    @property
    def feedback(self) -> str | None:
        return self.told["feedback"]

    @property
    def is_over(self) -> bool:
        return self.told["status"] == "completed"

    def answer(self, value: object) -> Sitting:
        """Answer the question that waits: a value, a list of values, or None to skip."""
        block = self.block
        body: dict[str, Any] = {"block_id": block["id"]}
        if value is None:
            body["skip"] = True
        elif block["type"] in ("single_punch", "multi_punch", "ranking"):
            ids = {each["value"]: each["id"] for each in block["options"]}
            if isinstance(value, list | tuple):
                key = "ranking" if block["type"] == "ranking" else "option_ids"
                body[key] = [ids[str(each)] for each in value]
            else:
                body["option_id"] = ids[str(value)]
        else:
            body["value"] = value
        return self._move("answers", body)

    def go_on(self) -> Sitting:
        """Past a content or action block."""
        return self._move("continue")

    def back(self) -> Sitting:
        return self._move("back")

    def back_to(self, name: str) -> Sitting:
        while self.block["name"] != name:
            self.back()
        return self

    def walk(self, answers: Mapping[str, object], until: str | None = None) -> Sitting:
        """On to the end, or to the block named `until`; a question that is not named is skipped."""
        while not self.is_over and self.block["name"] != until:
            block = self.block
            if block["type"] in ("content_block", "action_block"):
                self.go_on()
            else:
                self.answer(answers.get(block["name"]))
        return self

    def _move(self, what: str, body: object = None) -> Sitting:
        answer = self.caller.post(f"/conversations/{self.told['id']}/{what}", body)
        assert answer.status_code == 200, answer.content
        self._take(answer.json())
        return self

    def _take(self, told: dict[str, Any]) -> None:
        self.told = told
        if told["step"]:
            self.met.append(self.block["name"])
            self.said[self.block["name"]] = self.block["prompt"]


def sit(caller: Caller, made: Mapping[str, Any], answers: Mapping[str, object]) -> Sitting:
    """Somebody new, from beginning to end."""
    return Sitting(caller, made).walk(answers)
