"""The review of all answers before the end (rules 6.178 and 6.179)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from surveys.models import Conversation, Project
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk
from tests.support.surveys.scenario import CHOICE, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]
ROW = {"type": "rating", "max": 3, "group": "The food", "required": True}
REVIEW = "Please look at your answers before you send them."


def reviewed(visitor: Visitor) -> list[str]:
    """The answers in the review."""
    assert REVIEW in visitor.page
    found = re.findall(r"<dd[^>]*>(.*?)</dd>", visitor.page, flags=re.DOTALL)
    answers = [re.sub(r"<[^>]+>", "", each).strip() for each in found if "<button" not in each]
    return [" ".join(each.split()) for each in answers]


def is_completed() -> bool:
    return Conversation.objects.get().completed_at is not None


def change(visitor: Visitor, made: Any, name: str) -> None:
    block_id = scenario.script(made).blocks[int(name[1:])].id
    visitor.send(f"revise:{block_id}")


def send_rows(visitor: Visitor, made: Any, **chosen: Any) -> None:
    ids = {block.name: block.id for block in scenario.script(made).blocks}
    rows: dict[str, Any] = {f"row-{ids[name]}": value for name, value in chosen.items()}
    visitor.send(**rows)


@pytest.mark.parametrize("htmx", [False, True])
def test_all_answers_are_shown_before_the_end_and_sent_by_a_button(htmx: bool) -> None:
    made = scenario.project(TEXT, TEXT, review=True)
    visitor = Visitor(made, htmx=htmx).look().send(value="one").send("skip")

    assert reviewed(visitor) == ["one", "Skipped"]
    assert not is_completed()
    assert scenario.counts(made) == {"answered": 1, "completed": 0, "listed": 1}

    visitor.send("send")

    assert "Thank you." in visitor.page
    assert is_completed()
    assert scenario.counts(made) == scenario.recounted(made)


def test_one_answer_is_changed_and_the_review_comes_back() -> None:
    made = scenario.project(TEXT, {"type": "content_block"}, TEXT, TEXT, review=True)
    visitor = Visitor(made).look().send(value="one").send("go").send(value="two").send(value="three")

    change(visitor, made, "q0")
    assert "Prompt 0." in visitor.page
    assert ">one</textarea>" in visitor.page
    visitor.send(value="changed")

    assert reviewed(visitor) == ["changed", "two", "three"]
    visitor.send("send")
    assert [said for _, said in scenario.answers_of(made)] == ["changed", "two", "three"]


def test_a_question_that_a_change_brings_is_asked_before_the_review() -> None:
    made = scenario.project(CHOICE, {**TEXT, "precondition": 'NOT (q1 = "green")'}, TEXT, review=True)
    visitor = Visitor(made).look().send(option=scenario.option_id(made, "q0", 0)).send(value="last")
    assert reviewed(visitor) == ["red", "last"]

    change(visitor, made, "q0")
    visitor.send(option=scenario.option_id(made, "q0", 1))
    assert "Prompt 1." in visitor.page
    visitor.send(value="new")

    assert reviewed(visitor) == ["green", "new", "last"]


def test_a_question_that_a_change_hides_leaves_the_review() -> None:
    made = scenario.project(CHOICE, {**TEXT, "precondition": 'NOT (q1 = "green")'}, TEXT, review=True)
    visitor = Visitor(made).look().send(option=scenario.option_id(made, "q0", 1))
    visitor.send(value="hidden later").send(value="last")

    change(visitor, made, "q0")
    visitor.send(option=scenario.option_id(made, "q0", 0))

    assert reviewed(visitor) == ["red", "last"]
    visitor.send("send")
    assert [said for _, said in scenario.answers_of(made)] == ["red", "last"]


def test_the_review_waits_for_somebody_who_comes_back() -> None:
    made = scenario.project(TEXT, review=True)
    visitor = Visitor(made).look().send(value="one")

    visitor.look()

    assert "Welcome back" in visitor.page
    assert reviewed(visitor) == ["one"]


ASKED = {"type": "open_text", "prompt": "Why?"}


@pytest.mark.parametrize("adds", [False, True])
def test_the_review_waits_while_the_script_changes(adds: bool) -> None:
    """Rule 6.275."""
    caller = Caller()
    web = {"audience": {"participation": "open_web"}}
    project = caller.make_open(ASKED, ASKED, delivery=web, settings={"review": True})
    made = Project.objects.get(pk=project["id"])
    visitor = Visitor(made).look().send(value="one").send(value="two")
    script = f"/projects/{project['id']}/script"
    blocks = project["script"]["blocks"]

    assert caller.patch(f"{script}/blocks/{blocks[0]['id']}", {"prompt": "Reworded?"}).status_code == 200
    if adds:
        stored = caller.get(script).json()["blocks"]
        new = {"type": "content_block", "prompt": "Added."}
        assert caller.put(script, {"blocks": [new, *stored]}).status_code == 200

    assert reviewed(visitor.look()) == ["one", "two"]
    visitor.send("send")
    assert is_completed()


def test_a_graded_answer_that_stays_has_no_button() -> None:
    graded = {**CHOICE, "when_correct": "Yes.", "when_incorrect": "No.", "correct_answer_index": 0}
    made = scenario.project(graded, TEXT, review=True, scoring_enabled=True)
    first = scenario.script(made).blocks[0]
    visitor = Visitor(made).look().send(option=first.options[0].id).send(value="x")

    assert f"revise:{first.id}" not in visitor.page
    assert f"revise:{scenario.script(made).blocks[1].id}" in visitor.page


@pytest.mark.parametrize("do", ["revise:0", "revise:x", "revise:99999999999999999999"])
def test_a_block_that_was_not_passed_changes_nothing(do: str) -> None:
    made = scenario.project(TEXT, review=True)
    visitor = Visitor(made).look().send(value="one")

    visitor.send(do)

    assert reviewed(visitor) == ["one"]


def test_sending_twice_completes_once() -> None:
    made = scenario.project(TEXT, review=True)
    visitor = Visitor(made).look().send(value="one")
    sent = dict(visitor.hidden)
    visitor.send("send")
    visitor.hidden = sent

    visitor.send("send")

    assert visitor.status == 200
    assert scenario.counts(made) == {"answered": 1, "completed": 1, "listed": 1}


def test_who_comes_too_late_reads_that_the_answers_are_kept() -> None:
    made = scenario.project(TEXT, review=True, max_completes=1)
    late, early = (Visitor(made).look().send(value="x") for _ in range(2))
    early.send("send")

    late.send("send")

    assert "They are kept as an unfinished response, and you can still change them." in late.page
    assert "Please look at your answers before you send them." in late.send("look").page


def test_the_interface_ignores_the_review_and_completes_what_waits() -> None:
    caller = Caller()
    web = {"audience": {"participation": "open_web"}}
    project = caller.make_open(QUESTION, delivery=web, settings={"review": True})
    talk = Talk(caller, project)
    talk.answer()
    assert talk.told["status"] == "completed"


def test_continue_completes_a_conversation_that_waits_at_its_review() -> None:
    made = scenario.project(TEXT, review=True)
    Visitor(made).look().send(value="x")
    conversation = Conversation.objects.get()
    caller = Caller("admin", community=scenario.community())

    before = caller.get(f"/conversations/{conversation.pk}").json()
    after = caller.post(f"/conversations/{conversation.pk}/continue", {}).json()

    assert (before["status"], before["step"]) == ("active", None)
    assert after["status"] == "completed"


def test_rows_that_are_changed_from_the_review_are_all_saved() -> None:
    """Rules 6.134 and 6.178."""
    made = scenario.project(TEXT, ROW, ROW, ROW, TEXT, review=True)
    visitor = Visitor(made).look().send(value="a")
    send_rows(visitor, made, q1=1, q2=1, q3=1)
    visitor.send(value="z")

    change(visitor, made, "q2")
    send_rows(visitor, made, q1=2, q2=3, q3=3)

    assert [each[0] for each in reviewed(visitor)] == ["a", "2", "3", "3", "z"]
    visitor.send("send")
    assert [value for _, value in scenario.answers_of(made)] == ["a", "2", "3", "3", "z"]


def test_a_question_that_a_changed_row_shows_leads_to_the_review() -> None:
    """Rules 6.134 and 6.178."""
    new = {**TEXT, "precondition": "NOT (Q1 = 3)"}
    made = scenario.project(ROW, ROW, new, TEXT, TEXT, review=True)
    visitor = Visitor(made).look()
    send_rows(visitor, made, q0=1, q1=1)
    visitor.send(value="y").send(value="z")

    change(visitor, made, "q0")
    send_rows(visitor, made, q0=2, q1=3)
    assert "Prompt 2." in visitor.page
    visitor.send(value="x")

    assert [each[0] for each in reviewed(visitor)] == ["2", "3", "x", "y", "z"]
