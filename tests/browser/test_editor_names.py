"""Names in the script editor that are never taken for positions, and new values in logic."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from surveys.engine.rules import naming
from tests.support.browser import editor
from tests.support.caller import CHOICE, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)

COLOUR: dict[str, Any] = {**CHOICE, "name": "colour", "prompt": "Which colour do you like?"}
GAME: dict[str, Any] = {"type": "open_numeric", "name": "q1", "prompt": "How many games have you?"}
PROMPTS = [
    "How old are you?",
    "Wie groß — in cm?! ",
    "Do you like [game], [UserName]?",
    "3 things: which 2?",
    "好きなゲームは何ですか?",
    "Q3?",
    "Score",
    "Link",
    "true",
    "and",
    "UserName",
    "word " * 20,
    "a" * 41,
    "",
]


@pytest.fixture
def caller() -> Caller:
    return Caller()


def test_a_new_block_is_named_by_its_words_and_its_references_follow(windows, caller):
    project = editor.new_project(caller, COLOUR)
    page = editor.open_editor(windows, caller, project)

    page.evaluate("colloquyEditor.store.add('open_numeric')")
    assert editor.block(page, 1)["name"] == "question_2"
    page.evaluate("colloquyEditor.store.add('calculated_block')")
    page.get_by_label("Formula").fill("[question_2] * 4")
    editor.select(page, 1)
    page.get_by_label("Question", exact=True).fill("How many games?")
    page.get_by_label("Question", exact=True).blur()

    assert editor.block(page, 1)["name"] == "how_many_games"
    assert editor.block(page, 2)["calculated_formula"] == "[how_many_games] * 4"
    assert editor.block(page, 2)["name"] == "question_3"


def test_editor_and_server_make_the_same_names_of_words(windows):
    page = editor.opened(windows, COLOUR)

    made = page.evaluate(
        """async (prompts) => {
            const { wordsOf } = await import("/static/surveys/editor/document.js");
            return prompts.map(wordsOf);
        }""",
        PROMPTS,
    )

    expected = [naming.from_words(prompt, number=1, taken=set()) for prompt in PROMPTS]
    assert [name or "question_1" for name in made] == expected


@pytest.mark.parametrize(("press", "prompt"), [("I mean block 1", "So [q1]?"), ("I mean block 2", None)])
def test_a_name_with_two_readings_is_put_right_at_one_press(
    windows, caller, check_accessibility, press, prompt
):
    text = TEXT | {
        "name": "why",
        "prompt": "So [q1]?",
        "show_when": {"variable": "q1", "op": "ne", "value": "x"},
    }
    project = editor.new_project(caller, COLOUR, GAME, text)
    page = editor.open_editor(windows, caller, project)
    editor.select(page, 2)
    field = page.locator(".prompt-field")

    expect(field).to_contain_text("it means block 1, “Which colour do you like?”")
    expect(editor.logic(page).get_by_role("button", name="I mean block")).to_have_count(2)
    check_accessibility(page)
    field.get_by_role("button", name=press).click()

    expect(field.get_by_role("button", name="I mean block")).to_have_count(0)
    expect(editor.logic(page).get_by_role("button", name="I mean block")).to_have_count(0)
    editor.save(page)
    _, game, why = editor.stored(caller, project)
    assert game["name"] == "how_many_games_have_you"
    assert why["prompt"] == (prompt or "So [how_many_games_have_you]?")
    assert why["show_when"]["variable"] == "q1"


def test_a_reading_in_a_condition_is_put_right_in_rows_and_in_text(windows, caller):
    row = TEXT | {"show_when": {"variable": "q1", "op": "gt", "value": 3}}
    project = editor.new_project(caller, COLOUR, GAME, row, TEXT | {"precondition": "q1 > 3 AND colour = 1"})
    page = editor.open_editor(windows, caller, project)

    editor.select(page, 2)
    editor.logic(page).get_by_role("button", name="I mean block 2").click()
    assert editor.block(page, 2)["show_when"] == {"block": "how_many_games_have_you", "op": "gt", "value": 3}
    page.get_by_role("button", name="Undo").click()
    editor.select(page, 3)
    editor.logic(page).get_by_role("button", name="I mean block 2").click()

    assert editor.block(page, 3)["precondition"] == "how_many_games_have_you > 3 AND colour = 1"


def test_a_new_stored_value_is_carried_into_texts_of_conditions_and_formulas(windows, caller):
    hidden = TEXT | {"precondition": 'colour in ["red", "blue"] OR ("red" = q1) OR field.colour = "red"'}
    total = {
        "type": "calculated_block",
        "prompt": "",
        "name": "sum",
        "calculated_formula": 'if [colour] == "red" then "red" else red',
    }
    row = TEXT | {"show_when": {"block": "colour", "op": "eq", "value": "red"}}
    project = editor.new_project(caller, COLOUR, hidden, total, row)
    page = editor.open_editor(windows, caller, project)

    page.get_by_label("Option 1", exact=True).fill('the "red" one')
    page.get_by_label("Option 1", exact=True).blur()
    assert editor.block(page, 1)["precondition"] == (
        'colour in ["the ""red"" one", "blue"] OR ("the ""red"" one" = q1) OR field.colour = "red"'
    )
    editor.save(page)

    _, _, formula, by_row = editor.stored(caller, project)
    assert formula["calculated_formula"] == 'if [colour] == "the ""red"" one" then "red" else red'
    assert by_row["precondition"] == 'NOT((colour = "the ""red"" one"))'
