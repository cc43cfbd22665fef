"""A survey of ten blocks, built from nothing by keyboard alone, as somebody who does it all day would."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import editor
from tests.support.caller import Caller

pytestmark = pytest.mark.django_db(transaction=True)

FORMULA = "if [score] >= 2 then Regular else Newcomer"


def name(page, words):
    """Name the block, which logic and texts refer to."""
    editor.tab_to(page, "More")
    page.keyboard.press("Enter")
    editor.tab_to(page, "Name in logic and texts")
    page.keyboard.press("Control+a")
    page.keyboard.type(words)


def show_only_if(page, block, value):
    editor.tab_to(page, "Always")
    page.keyboard.press("ArrowRight")
    editor.tab_to(page, "Block or variable")
    page.keyboard.type(block)
    editor.tab_to(page, "Value")
    page.keyboard.type(value)


def build(page):
    page.locator(".add-block").focus()
    editor.add(page, "statement")
    page.keyboard.type("Hello [UserName], tell us about your year!")
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+ArrowUp")
    editor.add(page, "one choice")
    page.keyboard.press("Escape")
    page.keyboard.press("Alt+ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("Are you a member of the club?")
    editor.write_options(page, "Member", "Guest", "Not yet")
    name(page, "membership")
    editor.add(page, "text")
    page.keyboard.type("What shall we call you?")
    editor.add(page, "several")
    page.keyboard.type("Which evenings bring you to the club?")
    editor.write_options(page, "Tuesday training", "Thursday blitz", "Saturday open play")
    for n in (1, 2, 3):
        editor.tab_to(page, f"Option {n}, points for Score", backwards=n == 1)
        page.keyboard.type("1")
    editor.add(page, "number")
    page.keyboard.type("For how many years?")
    show_only_if(page, "membership", "Member")
    editor.add(page, "rating")
    page.keyboard.type("How do you like the club room?")
    editor.add(page, "nps")
    page.keyboard.type("Would you recommend us to a friend?")
    editor.add(page, "ranking")
    page.keyboard.type("What should we spend money on first?")
    editor.write_options(page, "New clocks", "Better light", "A coach", noun="Item")
    editor.add(page, "formula")
    page.keyboard.type(FORMULA)
    editor.tab_to(page, "Name of the result", backwards=True)
    page.keyboard.press("Control+a")
    page.keyboard.type("level")
    editor.add(page, "statement")
    page.keyboard.type("You are a [level]. Thank you!")


def test_ten_blocks_with_logic_points_and_a_calculated_result_are_built_by_keyboard_alone(windows):
    caller = Caller()
    project = editor.new_project(caller, scoring_enabled=True)
    page = editor.open_editor(windows, caller, project)

    build(page)
    editor.save(page)

    expect(page.locator(".counts")).to_be_hidden()
    blocks = editor.stored(caller, project)
    assert [(block["section"], block["type"]) for block in blocks] == [
        ("intro", "content_block"),
        ("main", "single_punch"),
        ("main", "open_text"),
        ("main", "multi_punch"),
        ("main", "open_numeric"),
        ("main", "rating"),
        ("main", "nps"),
        ("main", "ranking"),
        ("main", "calculated_block"),
        ("main", "content_block"),
    ]
    _, membership, _, evenings, years, _, _, ranking, level, result = blocks
    assert [option["value"] for option in membership["options"]] == ["Member", "Guest", "Not yet"]
    assert [option["score_values"] for option in evenings["options"]] == [{"score": 1}] * 3
    assert years["show_when"] == {"block": "membership", "op": "eq", "value": "Member"}
    assert [option["value"] for option in ranking["options"]] == ["New clocks", "Better light", "A coach"]
    assert (level["name"], level["calculated_formula"]) == ("level", FORMULA)
    assert result["prompt"] == "You are a [level]. Thank you!"
    assert editor.shown_as_stored(page, blocks)
