"""Conditions in the script editor, as rows and as text, by keyboard in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from surveys.engine.language import names, piping
from surveys.engine.language.expressions import parse
from surveys.engine.language.logic_tree import Negation
from surveys.models import ScriptDraft
from tests.support.browser import editor
from tests.support.concurrency import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

MEMBERSHIP: dict[str, Any] = {
    "type": "single_punch",
    "name": "membership",
    "prompt": "Are you a member?",
    "options": [{"value": "member", "label": "Member"}, {"value": "guest", "label": "Guest"}],
    "required": True,
}
EVENINGS: dict[str, Any] = {
    "type": "multi_punch",
    "name": "Which evenings",
    "prompt": "Which evenings?",
    "options": [{"value": "Tuesday"}, {"value": "Thursday"}],
    "required": True,
}
YEARS: dict[str, Any] = {"type": "open_numeric", "name": "years", "prompt": "For how long?"}
WHY: dict[str, Any] = {"type": "open_text", "name": "why", "prompt": "Why?"}


def test_rows_are_made_by_keyboard_several_values_are_check_boxes_and_groups_nest(
    windows, check_accessibility
):
    page = editor.opened(windows, MEMBERSHIP, EVENINGS, WHY | {"name": "first"}, YEARS, WHY)
    editor.select(page, 2)
    logic = editor.logic(page)

    logic.get_by_text("Unless").click()
    logic.get_by_role("checkbox", name="Thursday").check()
    expect(logic.get_by_label("Comparison")).to_have_value("in")
    logic.get_by_role("button", name="Add a group").click()
    inner = logic.get_by_role("group", name="Group of conditions")
    inner.get_by_label("Block or variable").first.select_option("membership · Block 1")
    inner.get_by_role("button", name="Remove this condition").nth(1).click()
    assert editor.block(page, 2)["hide_when"] == {
        "all": [
            {"block": "Which evenings", "op": "in", "value": ["Thursday"]},
            {"any": [{"block": "membership", "op": "eq", "value": "member"}]},
        ]
    }
    check_accessibility(page)
    logic.get_by_role("button", name="Remove this group").click()
    logic.get_by_role("button", name="Remove this condition").click()
    assert editor.block(page, 2)["hide_when"] is None
    expect(logic.get_by_role("radio", name="Always")).to_be_focused()

    # From the options of the block.
    editor.select(page, 4)
    expect(logic.get_by_role("radio", name="Always")).to_be_checked()
    logic.get_by_role("radio", name="Always").focus()
    editor.press(page, "ArrowRight")
    assert editor.block(page, 4)["show_when"] == {"block": "years", "op": "eq", "value": None}
    logic.get_by_label("Block or variable").focus()
    page.keyboard.type("membership")
    expect(logic.get_by_label("Value", exact=True)).to_have_value("member")
    logic.get_by_label("Value", exact=True).focus()
    page.keyboard.type("Guest")

    assert editor.block(page, 4)["show_when"] == {"block": "membership", "op": "eq", "value": "guest"}
    logic.get_by_role("button", name="Add a condition").press("Enter")
    expect(logic.get_by_label("Block or variable").nth(1)).to_be_focused()
    editor.press(page, "Tab")
    page.keyboard.type("is at least")
    editor.press(page, "Tab")
    page.keyboard.type("3")
    logic.get_by_label("If").select_option("any")
    assert editor.block(page, 4)["show_when"] == {
        "any": [
            {"block": "membership", "op": "eq", "value": "guest"},
            {"block": "years", "op": "gte", "value": 3},
        ]
    }
    editor.expect_kept(page)
    assert page.evaluate("colloquyEditor.store.check.blocks[4].precondition") == (
        'NOT((membership = "guest" OR years >= 3))'
    )
    check_accessibility(page)


def _changes_of_rows(logic: Locator) -> list[tuple[Callable[[], object], object]]:
    """Successive changes of the first row, each with the value that is then stored."""
    value = logic.get_by_label("Value", exact=True)
    return [
        (lambda: value.select_option("Guest"), "guest"),
        (lambda: value.select_option("Member"), "member"),
        (lambda: logic.get_by_label("Comparison").select_option("in"), ["member"]),
        (lambda: logic.get_by_role("checkbox", name="Guest").check(), ["member", "guest"]),
        (lambda: logic.get_by_role("checkbox", name="Member").uncheck(), ["guest"]),
        (lambda: logic.get_by_label("Block or variable").select_option("years · Block 2"), None),
        (lambda: value.fill("18"), 18),
        (lambda: value.fill("21"), 21),
    ]


def test_each_change_of_a_row_is_kept_however_long_one_thinks_between(windows):
    page = editor.opened(
        windows,
        MEMBERSHIP,
        YEARS,
        WHY | {"show_when": {"block": "membership", "op": "eq", "value": "member"}},
    )
    editor.select(page, 2)

    for change, value in _changes_of_rows(editor.logic(page)):
        change()
        wait_until(partial(_is_kept, value))

    editor.save(page)
    assert page.evaluate("colloquyEditor.store.baseline[2].precondition") == "NOT((years = 21))"


def _is_kept(value: object) -> bool:
    """Whether the draft on the server has this value in the condition of its last block."""
    row = ScriptDraft.objects.first()
    return row is not None and json.loads(row.blocks)[2]["show_when"]["value"] == value


def test_rows_become_text_whose_faults_are_marked_and_text_becomes_rows(windows, check_accessibility):
    page = editor.opened(
        windows,
        MEMBERSHIP,
        EVENINGS,
        WHY | {"show_when": {"block": "membership", "op": "eq", "value": "guest"}},
    )
    editor.select(page, 2)
    logic = editor.logic(page)

    logic.get_by_role("button", name="Edit as text").click()
    text = logic.get_by_label("Shown only when")
    expect(text).to_be_focused()
    expect(text).to_have_value('membership = "guest"')
    assert editor.block(page, 2)["precondition"] == 'NOT((membership = "guest"))'
    text.fill('membership == = "guest"')
    expect(text).to_have_attribute("aria-invalid", "true")
    fault = logic.locator(".problems .fault")
    expect(fault).to_have_count(1)
    expect(fault.locator("mark")).to_have_text("=")
    expect(fault.locator(".excerpt")).to_have_text('membership == = "guest"')
    text.fill('nobody = "guest"')
    editor.expect_kept(page)
    expect(fault).to_contain_text("No block or variable is named nobody")
    expect(fault.locator("mark")).to_have_text("n")
    check_accessibility(page)

    text.fill('membership != "guest" AND "Tuesday" in Which_evenings')
    logic.get_by_role("button", name="Edit as rows").click()

    expect(logic.get_by_label("Comparison").nth(1)).to_have_value("in")
    assert editor.block(page, 2)["precondition"] is None
    assert editor.block(page, 2)["show_when"] == {
        "all": [
            {"block": "membership", "op": "ne", "value": "guest"},
            {"block": "Which_evenings", "op": "in", "value": ["Tuesday"]},
        ]
    }
    expect(logic.get_by_label("Block or variable").nth(1)).to_have_value("block:Which_Evenings")


def test_a_text_that_rows_cannot_say_stays_and_says_why(windows, check_accessibility):
    page = editor.opened(windows, MEMBERSHIP, YEARS, WHY | {"precondition": "NOT((years AND membership))"})
    editor.select(page, 2)
    logic = editor.logic(page)

    logic.get_by_role("button", name="Edit as rows").click()

    says = logic.get_by_role("status").filter(has_text="Rows cannot say this text")
    expect(says).to_contain_text("years stands alone")
    expect(says.locator("mark")).to_have_text("y")
    assert editor.block(page, 2)["precondition"] == "NOT((years AND membership))"
    check_accessibility(page)


def test_an_unfinished_row_is_a_fault_in_its_place_and_undo_takes_it_back(windows):
    page = editor.opened(windows, WHY, YEARS, WHY | {"name": "last"})
    logic = editor.logic(page)
    editor.select(page, 2)

    logic.get_by_text("Only when").click()
    editor.expect_kept(page)
    expect(logic.get_by_label("Value", exact=True)).to_have_attribute("aria-invalid", "true")
    logic.get_by_role("button", name="Edit as text").click()
    expect(logic.get_by_role("status").filter(has_text="Complete the rows first")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(logic.get_by_role("radio", name="Always")).to_be_checked()
    expect(logic.get_by_label("Block or variable")).to_have_count(0)
    editor.select(page, 0)
    logic.get_by_text("Only when").click()

    # Nothing comes before the first block; where it is moved to later, the latest answer is known.
    expect(logic.get_by_label("Block or variable").locator("option")).to_have_text(["The latest answer"])

    # Names and conditions are read as the engine reads them.
    known = ["favGame", "Fav game-2", "q1", "Q1", "score", "Score", "max_score_x", "answer", "AND", "in"]
    known += ["UserName", "xp_points", " a b ", "Größe", "e\u0301te\u0301", "q 1", "score-x"]
    texts = ["NOT((a = 1))", "NOT((a) OR (b))", 'NOT((a = "))"))', "NOT(((a) OR (b)))", "NOT((a))  ", "a = 1"]
    texts += ["NOT((a)) AND NOT((b))", 'NOT((a = "("))']

    written, split = page.evaluate(
        """async ([known, texts]) => {
            const { expressionForm, tokenForm } = await import("/static/surveys/editor/reach.js");
            const { joinPrecondition, splitPrecondition } = await import("/static/surveys/editor/logic.js");
            const written = known.map(name => [expressionForm(name), tokenForm(name)]);
            const split = texts.map(text => {
                const { kind, condition } = splitPrecondition(text);
                return [kind, condition, joinPrecondition(kind, condition)];
            });
            return [written, split];
        }""",
        [known, texts],
    )

    assert written == [[names.expression_form(name), piping.token_form(name)] for name in known]
    for text, (kind, condition, joined) in zip(texts, split, strict=True):
        assert joined == text
        inner = parse(condition).tree
        assert parse(text).tree == (Negation(inner) if kind == "show_when" else inner)
    assert [kind for kind, _, _ in split].count("show_when") == 4


def test_what_is_out_of_reach_or_gone_stays_to_be_seen(windows, check_accessibility):
    condition = {
        "all": [
            {"block": "membership", "op": "eq", "value": "guest"},
            {"block": "Which evenings", "op": "in", "value": ["Tuesday"]},
        ]
    }
    page = editor.opened(windows, MEMBERSHIP, EVENINGS, WHY | {"show_when": condition})
    page.evaluate(
        """() => {
            const { store } = colloquyEditor;
            const [membership, evenings] = store.blocks;
            store.changeBlock(membership.key, block => { block.options[1].value = "visitor"; }, "Edit");
            store.move(evenings.key, 1);
        }"""
    )
    editor.select(page, 1)
    logic = editor.logic(page)

    expect(logic.get_by_label("Value", exact=True)).to_have_value("guest")
    expect(logic.get_by_label("Value", exact=True).locator("option").first).to_have_text(
        "“guest” (not an option)"
    )
    gone = logic.get_by_label("Block or variable").nth(1)
    expect(gone.locator("option").first).to_have_text("Not before this block: Which evenings")
    editor.expect_kept(page)
    expect(gone).to_have_attribute("aria-invalid", "true")
    check_accessibility(page)
    page.evaluate(
        """() => {
            const { store } = colloquyEditor;
            const { key } = store.blocks[2];
            store.move(key, -1);
            store.remove(key);
        }"""
    )
    expect(gone.locator("option").first).to_have_text("Removed: Which evenings")
    expect(logic.locator(".logic-row .problems .fault")).to_have_text(
        "“Which evenings” was removed from the script. Choose another question, or bring it back with Undo."
    )


def test_while_a_project_is_open_its_logic_is_seen_and_closed(windows, check_accessibility):
    condition = {"block": "membership", "op": "eq", "value": "guest"}
    page = editor.opened(windows, MEMBERSHIP, WHY | {"show_when": condition}, is_open=True)
    editor.select(page, 1)
    logic = editor.logic(page)

    expect(logic.get_by_label("Value", exact=True)).to_have_value("guest")
    for control in logic.locator("input, select, textarea").all():
        expect(control).to_be_disabled()
    expect(logic.get_by_role("button")).to_have_count(0)
    check_accessibility(page)


def test_a_condition_on_a_field_is_edited_as_rows_again(windows):
    conditions = ['field.utm_source = "mail"', 'field.utm_source in ["mail", "poster"]']
    asks = [WHY | {"name": f"why {n}", "precondition": f"NOT(({each}))"} for n, each in enumerate(conditions)]
    page = editor.opened(windows, *asks, settings={"hidden_fields": ["utm_source"]})
    logic = editor.logic(page)

    for n in range(2):
        editor.select(page, n)
        logic.get_by_role("button", name="Edit as rows").click()
        expect(logic.get_by_label("Block or variable")).to_have_value("variable:field.utm_source")
        assert editor.block(page, n)["show_when"]["variable"] == "field.utm_source"


def test_a_field_that_the_page_does_not_take_is_told_in_the_words_of_staff(windows):
    page = editor.opened(windows, WHY | {"precondition": 'field.utm_source = "mail"'})

    warning = editor.logic(page).locator(".warning")

    expect(warning).to_contain_text(
        "field.utm_source is not among the names in Delivery › Values from the address"
    )
    expect(warning).to_contain_text("or a program sends it along")
    expect(warning).not_to_contain_text("hidden_fields")
