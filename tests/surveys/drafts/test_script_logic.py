"""Conditions as rows and as text, and the flow of a script, as the script editor asks for them."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.staff import Staff

pytestmark = pytest.mark.django_db

NS = "{http://www.w3.org/2000/svg}"
GREEN: dict[str, Any] = {"block": "colour", "op": "eq", "value": "green"}
COLOUR: dict[str, Any] = CHOICE | {"name": "colour", "required": True}


class Editor:
    """The editor of a project of these blocks."""

    def __init__(self, *blocks: Any) -> None:
        caller = Caller()
        self.made = caller.make(*blocks)
        self.staff = Staff(community=caller.community)
        self.path = f"/admin/surveys/project/{self.made['id']}/script/"

    def ask(self, place: str, body: object, *, status: int = 200) -> dict[str, Any]:
        answered = self.staff.send("post", self.path + place, body)
        assert answered.status_code == status, answered.content
        return answered.json()


@pytest.mark.parametrize(
    ("text", "lists", "kind", "condition"),
    [
        ('NOT((colour = "green"))', [], "show_when", GREEN),
        ('colour = "green"', [], "hide_when", GREEN),
        ('"a" in q2', ["Which_days", "q2"], "hide_when", {"variable": "q2", "op": "in", "value": ["a"]}),
        (
            '"a" in which_Days',
            ["Which_days", "q2"],
            "hide_when",
            {"block": "which_Days", "op": "in", "value": ["a"]},
        ),
    ],
)
def test_a_text_is_told_as_rows(text, lists, kind, condition):
    told = Editor(TEXT).ask("logic/", {"text": text, "lists": lists})

    assert (told["kind"], told["condition"], told["violations"], told["reason"]) == (
        kind,
        condition,
        [],
        None,
    )


def test_why_a_text_cannot_be_rows_is_told_with_its_column():
    told = Editor(TEXT).ask("logic/", {"text": "q1 > 2 AND colour"})

    assert (told["condition"], told["kind"], told["column"]) == (None, None, 12)
    assert told["reason"].startswith("colour stands alone.")


def test_a_fault_of_a_text_is_told_with_its_column():
    told = Editor(TEXT).ask("logic/", {"text": "q1 = = 2"})

    assert (told["condition"], told["reason"]) == (None, None)
    (fault,) = told["violations"]
    assert (fault["field"], fault["code"], fault["column"]) == ("precondition", "syntax_error", 6)


@pytest.mark.parametrize(
    ("kind", "text"), [("show_when", 'NOT((colour = "green"))'), ("hide_when", 'colour = "green"')]
)
def test_rows_are_told_as_text(kind, text):
    assert Editor(TEXT).ask("logic/", {"condition": GREEN, "kind": kind}) == {"text": text, "violations": []}


def test_unfinished_rows_are_told_as_faults_at_their_places():
    condition = {"all": [GREEN, GREEN | {"value": None}]}

    told = Editor(TEXT).ask("logic/", {"condition": condition, "kind": "hide_when"})

    assert told["text"] is None
    assert [(fault["field"], fault["code"]) for fault in told["violations"]] == [
        ("hide_when.all[1].value", "required")
    ]


SUBJECTS = [
    {"block": "colour"},
    {"variable": "q1"},
    {"variable": "field.utm_source"},
    {"variable": "answer"},
    {"variable": "score"},
    {"variable": "score_x"},
    {"variable": "max_score_correct_x"},
    {"variable": "correct_answers"},
]
COMPARISONS: list[dict[str, Any]] = [
    *({"op": op, "value": value} for op in ("eq", "ne") for value in ("mail", "", 3, -2.5, True)),
    *({"op": op, "value": 3} for op in ("lt", "lte", "gt", "gte")),
    *({"op": "in", "value": value} for value in ([], ["mail"], ["mail", "", 3])),
]


def test_every_row_comes_back_from_its_text():
    editor, kind = Editor(TEXT), "hide_when"
    rows = [[subject | comparison for comparison in COMPARISONS] for subject in SUBJECTS]

    for condition in (
        *rows[0],
        *({"all": each} for each in rows),
        {"any": [rows[0][0], {"all": rows[1][1:3]}]},
    ):
        text = editor.ask("logic/", {"condition": condition, "kind": kind})["text"]
        back = editor.ask("logic/", {"text": text})

        assert (back["condition"], back["kind"], back["reason"]) == (condition, kind, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": 7}, "text"),
        ({"text": "a = 1", "lists": "a"}, "lists"),
        ({"text": "a = 1", "lists": [1]}, "lists"),
        ({"condition": "a = 1"}, "condition"),
        ({"condition": GREEN, "kind": "precondition"}, "kind"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(body, field):
    refused = Editor(TEXT).ask("logic/", body, status=400)

    assert [fault["field"] for fault in refused["violations"]] == [field]


# --- Flow -------------------------------------------------------------------------------------------


def keys_of(drawn: dict[str, Any]) -> list[str | None]:
    return [link.get("data-key") for link in ET.fromstring(drawn["svg"]).findall(f"{NS}a")]


def test_the_flow_of_the_blocks_sent_carries_their_keys_and_the_outro():
    here = Editor(COLOUR)
    stored = here.made["script"]["blocks"][0]
    sent = [stored | {"key": "b1"}, TEXT | {"key": "new", "precondition": 'colour = "red"', "name": "why"}]

    drawn = here.ask("flow/", {"blocks": sent})

    assert keys_of(drawn)[:2] == ["b1", "new"]
    assert [step["title"] for step in drawn["steps"]] == ["colour", "why", "thank_you"]
    assert drawn["steps"][0]["next"][0]["words"] == "unless colour is red"


def test_the_flow_is_in_the_order_of_sections_whatever_was_sent_first():
    sent = [COLOUR | {"key": "a"}, {"type": "content_block", "prompt": "Hi.", "section": "intro", "key": "b"}]

    assert keys_of(Editor(TEXT).ask("flow/", {"blocks": sent}))[:2] == ["b", "a"]


def test_without_blocks_the_draft_is_drawn_or_else_the_script():
    here = Editor(COLOUR)
    before = here.ask("flow/", {})
    draft = {"blocks": [TEXT | {"name": "only", "key": "k"}], "revision": 1, "version": None}
    here.staff.send("put", here.path + "draft/", draft)

    after = here.ask("flow/", {})

    assert [step["title"] for step in before["steps"]] == ["colour", "thank_you"]
    assert after["steps"][0]["title"] == "only"


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        ["no block", None, 7],
        [{"type": "?"}, {"type": "rating", "min": "x", "options": [3]}],
        [TEXT | {"precondition": "("}, TEXT | {"show_when": {"block": "?"}}],
        [TEXT | {"name": "<svg onload=alert(1)>", "prompt": "</svg><script>"}],
        [{"type": "rating", "min": 0, "max": 10**15, "name": "r"}, TEXT | {"precondition": "r > 3"}],
    ],
)
def test_a_draft_with_any_faults_is_drawn(blocks):
    drawn = Editor(TEXT).ask("flow/", {"blocks": blocks})

    assert len(keys_of(drawn)) == len(drawn["steps"]) == len(blocks) + 1
