"""A graded answer stays once its feedback was read (rule 5.15): in the interface, on pages, in chat."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from surveys.engine.script import Block, Option, Script
from surveys.engine.walk import runner
from surveys.engine.walk.runner import State
from surveys.models import Answer, Project
from tests.support.caller import Caller
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db

CAPITAL: dict[str, Any] = {
    "name": "capital",
    "type": "single_punch",
    "prompt": "Which is the capital of Norway?",
    "required": False,
    "options": [{"value": "Bergen"}, {"value": "Oslo"}],
    "correct_answer_index": 1,
    "when_correct": "Yes!",
    "when_incorrect": "It is Oslo.",
}
RIVER = {"name": "river", "type": "open_text", "prompt": "Name a river.", "required": True}


def quiz(caller: Caller, *blocks: dict[str, Any], **fields: Any) -> str:
    """The id of an open quiz."""
    body = {"name": "Quiz", "type": "convo", "scoring_enabled": True, **fields}
    made = caller.post("/projects", {**body, "script": {"blocks": list(blocks or (CAPITAL, RIVER))}})
    assert made.status_code == 201, made.json()
    audience = {"participation": "open_web"}
    caller.patch(f"/projects/{made.json()['id']}", {"delivery": {"audience": audience}})
    assert caller.post(f"/projects/{made.json()['id']}/open").status_code == 200
    return made.json()["id"]


class Walk:
    """One conversation over the interface. `last` is the response to the last move."""

    def __init__(self, caller: Caller, project_id: str) -> None:
        self.caller = caller
        self.last: Any = caller.post(f"/projects/{project_id}/conversations", {"external_id": "ann"})
        self.id = self.last.json()["id"]

    @property
    def step(self) -> dict[str, Any]:
        return self.caller.get(f"/conversations/{self.id}").json()["step"]

    def answer(self, **body: Any) -> int:
        body = {"block_id": self.step["block"]["id"], **body}
        self.last = self.caller.post(f"/conversations/{self.id}/answers", body)
        return self.last.status_code

    def move(self, verb: str) -> int:
        self.last = self.caller.post(f"/conversations/{self.id}/{verb}")
        return self.last.status_code


@pytest.fixture
def caller() -> Caller:
    return Caller("admin")


@pytest.fixture
def walk(caller: Caller) -> Walk:
    """A conversation after a wrong answer and a step back."""
    walk = Walk(caller, quiz(caller))
    assert walk.step["is_locked"] is False
    walk.answer(value="Bergen")
    assert walk.last.json()["feedback"] == "It is Oslo."
    walk.move("back")
    return walk


@pytest.mark.parametrize("body", [{"value": "Oslo"}, {"skip": True}])
def test_another_answer_is_a_conflict_and_the_first_stays(walk, body):
    assert walk.step["is_locked"] is True

    assert walk.answer(**body) == 409

    assert walk.last.json()["error"] == "conflict"
    assert "graded" in walk.last.json()["message"]
    assert [each.value for each in Answer.objects.all()] == ["Bergen"]


@pytest.mark.parametrize(
    "move", [lambda walk: walk.move("continue"), lambda walk: walk.answer(value="Bergen")]
)
def test_the_same_answer_and_continue_go_on(walk, move):
    assert move(walk) == 200

    assert walk.step["block"]["name"] == "river"
    assert walk.answer(value="Glomma") == 200
    response = walk.caller.get(f"/responses/{walk.id}").json()
    assert [each["value"] for each in response["answers"]] == ["Bergen", "Glomma"]


def test_a_question_that_was_not_answered_cannot_be_continued(caller):
    walk = Walk(caller, quiz(caller))

    assert walk.move("continue") == 409


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        (CAPITAL, {"settings": {"lock_graded_answers": False}}),
        ({**CAPITAL, "when_correct": None, "when_incorrect": None}, {}),
        ({**CAPITAL, "correct_answer_index": None, "when_correct": None, "when_incorrect": None}, {}),
    ],
    ids=["allowed", "nothing was said", "not graded"],
)
def test_else_an_answer_can_be_changed(caller, block, fields):
    walk = Walk(caller, quiz(caller, block, RIVER, **fields))
    walk.answer(value="Bergen")
    walk.move("back")

    assert walk.step["is_locked"] is False
    assert walk.answer(value="Oslo") == 200
    assert [each.value for each in Answer.objects.all()] == ["Oslo"]


def test_silence_about_a_wrong_answer_says_it_too(caller):
    walk = Walk(caller, quiz(caller, {**CAPITAL, "when_incorrect": None}, RIVER))
    walk.answer(value="Bergen")
    walk.move("back")

    assert walk.answer(value="Oslo") == 409


def test_an_answer_whose_option_is_gone_can_be_given_anew():
    options = (Option("Bergen", id=1), Option("Oslo", id=2))
    block = Block("single_punch", id=7, options=options, correct_answer_ids=(2,), when_correct="Yes!")
    state = State(replies={7: {"option_ids": [1]}})
    later = replace(block, options=(Option("Hamar", id=3), options[1]))

    assert runner.settled_reply(Script((block,), scoring_enabled=True), state) == {"option_ids": [1]}
    assert runner.settled_reply(Script((later,), scoring_enabled=True), state) is None


def test_the_setting_is_read_written_and_copied(caller):
    project_id = quiz(caller)
    address = f"/projects/{project_id}"
    assert caller.get(address).json()["settings"]["lock_graded_answers"] is True

    changed = caller.patch(address, {"settings": {"lock_graded_answers": False}})

    assert changed.json()["settings"]["lock_graded_answers"] is False
    copy = caller.post(f"{address}/clone", {}).json()
    assert copy["settings"]["lock_graded_answers"] is False
    refused = caller.patch(address, {"settings": {"lock_graded_answers": "no"}})
    assert refused.json()["violations"][0]["field"] == "settings.lock_graded_answers"


@pytest.mark.parametrize("style", [None, "select_menu"])
def test_the_page_shows_the_answer_and_goes_on(caller, style, settings):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    made = Project.objects.get(pk=quiz(caller, {**CAPITAL, "answer_style": style}, RIVER))
    ids = {each.value: each.pk for block in made.blocks.all() for each in block.options.all()}
    visitor = Visitor(made).look()
    visitor.send(option=ids["Bergen"])
    visitor.send("back")

    assert visitor.has_control(r"<fieldset[^>]* disabled" if style is None else r"<select[^>]* disabled")
    assert "Your answer stays" in visitor.page
    visitor.send("go")

    assert "Name a river." in visitor.page
    visitor.send("back")
    visitor.send(option=ids["Oslo"])  # a form that was opened before
    assert [each.value for each in Answer.objects.all()] == ["Bergen"]
