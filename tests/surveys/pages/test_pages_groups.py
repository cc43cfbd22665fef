"""A group of questions as one screen of a page: its rows, form and errors, and the way back (rule 6.134)."""

import re
from typing import Any

import pytest

from surveys.drawing import words
from surveys.engine.script import Scale
from surveys.models import Answer, Conversation, Project
from surveys.services.conversations import moves
from tests.support.caller import Caller
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.exports import questions
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]

ROW = {"type": "rating", "max": 3, "group": "The *food*", "required": True}
NUMBERS = {**ROW, "scale": Scale("numbers", "Bad", None, "Good")}
PICK = {**CHOICE, "group": "Colours"}


def ids_of(made):
    return {block.name: block.id for block in scenario.script(made).blocks}


def rows_of(visitor):
    """The prompts of the rows, and what is checked in each."""
    rows = re.split(r'<div class="in-group" role', visitor.page)[1:]
    return [
        (
            re.findall(r'<p id="row-\d+" class="text">([^<]*)', row)[0],
            re.findall(r'value="(\d+)"[^>]* checked', row),
            re.findall(r'<p id="field-error-\d+" class="error">(?:<span[^>]*>Error: </span>)?([^<]*)', row),
        )
        for row in rows
    ]


def send(visitor, made, **chosen):
    ids = ids_of(made)
    return visitor.send(**{f"row-{ids[name]}": value for name, value in chosen.items()})


def group_of(visitor):
    found = re.search(r'<p id="group" class="group">([^<]*)</p>', visitor.page)
    return found and found[1]


class Rows(Visitor):
    """A visitor whose form sends the hidden field of rows, as browsers do."""

    def _take(self, response):
        taken = super()._take(response)
        assert ("rows" in self.hidden) == ('<div class="rows">' in self.page)
        return taken


def test_neighbours_stand_on_one_screen_and_are_answered_with_one_form():
    """Rules 6.134 and 6.945."""
    made = scenario.project(SAYING, ROW, ROW, {**ROW, "required": None}, TEXT)
    visitor = Rows(made).look().send("go")

    assert '<span class="text">The *food*</span>' in visitor.page
    assert [prompt for prompt, _, _ in rows_of(visitor)] == ["Prompt 1.", "Prompt 2.", "Prompt 3."]
    assert 'value="skip"' not in visitor.page
    send(visitor, made, q1=3, q2=1)

    assert scenario.answers_of(made) == [("Prompt 1.", "3"), ("Prompt 2.", "1")]
    assert "Prompt 4." in visitor.page
    assert "<span>The *food*</span>" in visitor.page.replace(' class="text"', "")
    assert "<span>Prompt 1. 3 of 3 stars\nPrompt 2. 1 of 3 stars\nPrompt 3. Skipped</span>" in visitor.page
    assert "3 of 3 stars" in visitor.page
    assert questions(made)[0][:2] == ["The *food*: Prompt 1.", "The *food*: Prompt 2."]


def test_a_group_may_come_first_and_last():
    """Rule 6.134."""
    made = scenario.project(PICK, PICK)
    visitor = Rows(made).look()

    send(visitor, made, q0=scenario.option_id(made, "q0", 1), q1=scenario.option_id(made, "q1", 0))

    assert scenario.answers_of(made) == [("Prompt 0.", "green"), ("Prompt 1.", "red")]
    assert "Thank you." in visitor.page


@pytest.mark.parametrize("starts", [True, False])
def test_a_row_that_is_refused_is_named_and_everything_that_was_chosen_is_kept(starts):
    """Rule 6.134."""
    made = scenario.project(*([] if starts else [SAYING]), *([NUMBERS] * 3), TEXT)
    visitor = Rows(made).look()
    visitor = visitor if starts else visitor.send("go")
    names = list(ids_of(made))[0 if starts else 1 :][:3]

    send(visitor, made, **{names[1]: 2})

    needed = ["This question needs an answer."]
    assert visitor.status == 422
    assert [row[1:] for row in rows_of(visitor)] == [([], needed), (["2"], []), ([], needed)]
    assert f'id="field-{ids_of(made)[names[0]]}" autofocus' in visitor.page
    assert scenario.answers_of(made) == []
    send(visitor, made, **dict.fromkeys(names, 2))
    assert len(scenario.answers_of(made)) == 3


def test_back_steps_over_the_group_and_into_it_with_its_answers():
    """Rule 6.134."""
    made = scenario.project(TEXT, ROW, ROW, TEXT)
    visitor = Rows(made).look().send(value="before")
    send(visitor, made, q1=3, q2=1)

    visitor.send("back")
    assert [(prompt, checked) for prompt, checked, _ in rows_of(visitor)] == [
        ("Prompt 1.", ["3"]),
        ("Prompt 2.", ["1"]),
    ]
    visitor.look()
    assert len(rows_of(visitor)) == 2
    send(visitor, made, q1=2, q2=1)
    assert scenario.answers_of(made)[1:] == [("Prompt 1.", "2"), ("Prompt 2.", "1")]

    visitor.send("back").send("back")
    assert "Prompt 0." in visitor.page
    assert rows_of(visitor) == []
    assert "before" in visitor.page


def test_who_answered_a_row_elsewhere_finds_it_on_the_same_screen():
    """Rule 6.134."""
    made = scenario.project(TEXT, ROW, ROW, ROW)
    visitor = Rows(made).look().send(value="x")
    raw = {"block_id": ids_of(made)["q1"], "value": 3}
    conversation = Conversation.objects.get(project=made)
    moves.answer(conversation_id=conversation.pk, raw=raw, at=LUNCHTIME)

    visitor.look()
    assert [checked for _, checked, _ in rows_of(visitor)] == [["3"], [], []]
    send(visitor, made, q1=1, q2=1, q3=1)

    assert len(scenario.answers_of(made)) == 4


def test_a_row_that_an_answer_of_the_group_hides_is_dropped():
    """Rule 6.134."""
    made = scenario.project(ROW, {**ROW, "precondition": "Q0 < 2"}, TEXT)
    visitor = Rows(made).look()
    assert len(rows_of(visitor)) == 2

    send(visitor, made, q0=1, q1=3)

    assert scenario.answers_of(made) == [("Prompt 0.", "1")]
    assert "Prompt 2." in visitor.page


def test_a_required_row_that_an_answer_of_the_form_hides_needs_no_answer():
    """Rule 6.276."""
    made = scenario.project(ROW, {**ROW, "precondition": "q1 = 1"}, ROW, TEXT)
    visitor = Rows(made).look()

    send(visitor, made, q0="1", q2="2")

    assert "Prompt 3." in visitor.page
    again = Rows(made).look()
    send(again, made, q0="2", q2="2")
    assert "Prompt 3." not in again.page
    assert [bool(errors) for _, _, errors in rows_of(again)] == [False, True, False]


def test_what_is_hidden_beforehand_is_no_row():
    """Rules 6.134 and 6.137."""
    made = scenario.project(TEXT, ROW, {**ROW, "precondition": 'Q0 = "x"'}, TEXT)

    visitor = Rows(made).look().send(value="x")

    assert rows_of(visitor) == []
    assert group_of(visitor) == "The *food*"


@pytest.mark.parametrize("condition", ["Q0 = 1", "answer = 1"])
def test_a_group_in_which_an_answer_shows_a_row_is_asked_one_by_one(condition):
    """Rule 6.138."""
    made = scenario.project(ROW, {**ROW, "precondition": f"NOT ({condition})"}, ROW, TEXT)
    visitor = Rows(made).look()
    assert rows_of(visitor) == []

    for value in (1, 2, 3):
        visitor.send(value=value)

    assert [value for _, value in scenario.answers_of(made)] == ["1", "2", "3"]
    assert "Prompt 3." in visitor.page


def test_a_row_that_depends_on_what_came_before_the_group_stays_a_row():
    """Rule 6.138."""
    made = scenario.project(TEXT, ROW, {**ROW, "precondition": 'Q0 != "x"'}, ROW, TEXT)

    shown = [len(rows_of(Rows(made).look().send(value=said))) for said in ("x", "y")]

    assert shown == [3, 2]


@pytest.mark.parametrize(
    "own", [{"image_url": "https://example.org/a.png"}, {"when_correct": "Yes!", "correct_answer_index": 0}]
)
def test_a_group_with_a_picture_or_feedback_is_asked_one_by_one(own):
    """Rules 6.138 and 6.137."""
    made = scenario.project(PICK, {**PICK, **own}, scoring_enabled=True)
    visitor = Rows(made).look()

    seen = [group_of(visitor)]
    seen.append(group_of(visitor.send(option=scenario.option_id(made, "q0", 0))))

    assert seen == ["Colours · 1 of 2", "Colours · 2 of 2"]
    assert re.search(r'<fieldset\s+aria-describedby="group', visitor.page)


def test_an_address_fills_in_rows():
    made = scenario.project(ROW, ROW)

    visitor = Rows(made).look("?q0=2&q1=9")

    assert [checked for _, checked, _ in rows_of(visitor)] == [["2"], []]


def test_an_address_that_answers_the_first_row_leaves_the_others_to_the_form():
    """Rule 6.134."""
    made = scenario.project(ROW, ROW, ROW, TEXT)
    visitor = Rows(made).look("?q0=2&skip=1")

    send(visitor, made, q0=2, q1=3, q2=1)

    assert [value for _, value in scenario.answers_of(made)] == ["2", "3", "1"]
    assert "Prompt 3." in visitor.page


@pytest.mark.parametrize("starts", [True, False])
@pytest.mark.parametrize("place", [0, 1])
def test_a_row_that_the_author_adds_while_the_form_is_open_is_shown_with_what_was_chosen(starts, place):
    """Rule 6.134."""
    caller = Caller()
    texts = [] if starts else [{"type": "open_text", "prompt": "Before"}]
    row = {"type": "rating", "max": 3, "group": "The food", "required": True}
    rows = [row | {"prompt": "One"}, row | {"prompt": "Two"}]
    opened = caller.make_open(*texts, *rows, delivery={"audience": {"participation": "open_web"}})
    made = Project.objects.get()
    visitor = Rows(made).look()
    if not starts:
        visitor.send(value="x")
    form: dict[str, Any] = {f"row-{each}": 2 for each in visitor.hidden["rows"].split()}
    path = f"/projects/{opened['id']}/script"
    blocks = [block for block in caller.get(path).json()["blocks"] if block["section"] != "outro"]
    blocks.insert(len(texts) + place, row | {"prompt": "New"})
    changed = [{**block, "position": n} for n, block in enumerate(blocks)]
    assert caller.put(path, {"blocks": changed}).status_code == 200

    visitor.send(**form)

    if starts and place == 0:  # the new row is the first step, so the conversation begins there
        assert words.MOVED_ON in visitor.page
    else:
        assert words.REWRITTEN in visitor.page
        shown = [("One", ["2"]), ("Two", ["2"])]
        shown.insert(place, ("New", []))
        assert [each[:2] for each in rows_of(visitor)] == shown
    assert len(Answer.objects.all()) == len(texts)
    added: dict[str, Any] = {f"row-{each}": 3 for each in visitor.hidden["rows"].split()}
    visitor.send(**added | form)
    assert sorted(Answer.objects.values_list("value", flat=True)) == ["2", "2", "3", *["x" for _ in texts]]


def test_a_form_that_comes_twice_counts_once():
    made = scenario.project(ROW, ROW, TEXT)
    visitor = Rows(made).look()
    form = dict(visitor.hidden)
    send(visitor, made, q0=1, q1=2)
    visitor.hidden = form

    send(visitor, made, q0=3, q1=3)

    assert scenario.answers_of(made) == [("Prompt 0.", "1"), ("Prompt 1.", "2")]
    assert "Prompt 2." in visitor.page


@pytest.mark.parametrize("rows", ["", "x 1e3 -5", "99999999999999999999999999", "1 " * 500])
def test_a_broken_list_of_rows_breaks_nothing(rows):
    made = scenario.project(ROW, ROW)
    visitor = Rows(made).look()

    visitor.send(rows=rows)

    assert visitor.status in (200, 422)
    assert scenario.answers_of(made) == []


def test_short_options_stand_once_above_the_rows():
    """Rule 6.237."""
    rows = [{**PICK, "prompt": "Sky?"}, {**PICK, "prompt": "Sea?"}]

    page = Visitor(scenario.project(*rows)).look().page

    head = re.findall(r'<div class="head" aria-hidden="true">(.*?)</div>', page, flags=re.DOTALL)
    assert [re.findall(r"<span[^>]*>([^<]*)", each) for each in head] == [["red", "green"]]
    assert page.count('class="options row matrix"') == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"options": ["red", "green", "blue", "white", "black", "grey"]},
        {"options": ["red", "indistinguishable"]},
        {"answer_style": "buttons"},
        {"type": "rating", "max": 3},
    ],
)
def test_others_stand_in_each_row(fields):
    """Rule 6.237."""
    row = {**PICK, **fields}
    if "type" in fields:
        row = {**ROW, "group": "Colours"}

    page = Visitor(scenario.project(row, row)).look().page

    assert 'class="rows"' in page
    assert 'class="head"' not in page
