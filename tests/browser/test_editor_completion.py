"""Suggestions of the script editor during typing, and its names for blocks, in a real browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import editor

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
WHY: dict[str, Any] = {"type": "open_text", "name": "why", "prompt": "Why?"}
LEVEL: dict[str, Any] = {"type": "calculated_block", "name": "level", "prompt": "", "calculated_formula": "1"}


def test_text_logic_completes_names_and_values_by_keyboard(windows, check_accessibility):
    page = editor.opened(windows, MEMBERSHIP, EVENINGS, WHY | {"precondition": "true"})
    editor.select(page, 2)
    text = editor.logic(page).get_by_label("Hidden when")

    text.fill("")
    page.keyboard.type("evenin")
    expect(editor.suggestions(page)).to_have_count(1)
    editor.press(page, "ArrowDown")
    chosen = page.locator(".completion[aria-selected=true]")
    expect(text).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "?")
    check_accessibility(page)
    editor.press(page, "Enter")
    expect(text).to_have_value("Which_evenings")
    page.keyboard.type(" in [")
    expect(editor.suggestions(page)).to_have_text(["Tuesday", "Thursday"])
    editor.press(page, "ArrowDown", "ArrowDown", "Enter")
    page.keyboard.type('] AND membership = "')
    editor.press(page, "Escape")
    expect(editor.suggestions(page)).to_have_count(0)
    editor.press(page, "Control+Space", "ArrowDown", "Enter")

    expect(text).to_have_value('Which_evenings in ["Thursday"] AND membership = "member"')
    assert editor.block(page, 2)["precondition"] == 'Which_evenings in ["Thursday"] AND membership = "member"'


def test_a_formula_completes_names_buckets_and_words_while_checks_come_back(windows):
    page = editor.opened(
        windows,
        MEMBERSHIP | {"options": [{"value": "a", "score_values": {"fire_mage": 1}}, {"value": "b"}]},
        LEVEL,
        scoring_enabled=True,
    )
    editor.select(page, 1)
    formula = page.get_by_label("Formula")

    formula.fill("")
    page.keyboard.type("arg")
    editor.expect_kept(page)
    expect(editor.suggestions(page)).to_have_count(1)
    editor.press(page, "ArrowDown", "Enter")
    page.keyboard.type("[score_fi")
    editor.press(page, "Enter")
    page.keyboard.type(")")
    expect(formula).to_have_value("argmax([score_fire_mage])")
    formula.fill("")
    page.keyboard.type("if [membership] == ")
    editor.press(page, "ArrowDown", "Enter")

    expect(formula).to_have_value('if [membership] == "a"')


def test_buckets_that_points_have_just_made_can_be_referred_to(windows):
    page = editor.opened(windows, WHY, MEMBERSHIP, WHY | {"name": "last"}, scoring_enabled=True)
    page.evaluate(
        """() => {
            const { store } = colloquyEditor;
            store.vocabulary.buckets = [];
            const points = block => { block.options[0].score_values = { "fire-mage": 2 }; };
            store.changeBlock(store.blocks[1].key, points, "Points");
        }"""
    )
    editor.select(page, 2)

    editor.logic(page).get_by_text("Only when").click()
    editor.logic(page).get_by_label("Block or variable").select_option("Score for Fire-mage")

    assert editor.block(page, 2)["show_when"]["variable"] == "score_fire_mage"


def test_a_token_is_completed_in_texts_and_picked_from_the_list(windows, check_accessibility):
    page = editor.opened(windows, MEMBERSHIP | {"correct_answer_index": 0}, WHY, scoring_enabled=True)
    editor.select(page, 1)
    prompt = page.get_by_role("textbox", name="Question")

    prompt.fill("")
    page.keyboard.type("You are a [mem")
    editor.press(page, "Enter")
    expect(prompt).to_have_value("You are a [membership]")
    page.get_by_role("button", name="Insert [ ]").first.click()  # that of the question
    dialog = page.get_by_role("dialog", name="Insert into the text")
    check_accessibility(page)
    page.keyboard.type("name")
    editor.press(page, "ArrowDown", "Enter")
    expect(dialog).to_have_count(0)
    expect(prompt).to_be_focused()
    expect(prompt).to_have_value("You are a [membership][UserName]")
    editor.select(page, 0)
    page.get_by_text("Words after the answer").click()
    words = page.get_by_label("After the right answer")
    words.fill("")
    page.keyboard.type("Yes, [ans")
    editor.press(page, "ArrowDown", "Enter")

    assert editor.block(page, 0)["when_correct"] == "Yes, [answer]"

    # The name before a text for empty answers is completed, and the text is not.
    editor.select(page, 1)
    prompt.fill("Dear [|member]")
    for _ in range(len("|member]")):
        prompt.press("ArrowLeft")
    page.keyboard.type("mem")
    editor.press(page, "Enter")
    expect(prompt).to_have_value("Dear [membership|member]")
    prompt.press("End")
    prompt.press("ArrowLeft")
    page.keyboard.type(" m")
    expect(prompt).to_have_value("Dear [membership|member m]")
    expect(editor.suggestions(page)).to_have_count(0)

    # Enter takes a suggestion only for a bracket with a letter.
    prompt.fill("")
    page.keyboard.type("Hello [")
    expect(editor.suggestions(page).first).to_be_visible()
    editor.press(page, "Enter")
    page.keyboard.type("so, [mem")
    editor.press(page, "Shift+Enter")
    page.keyboard.type("or [nothing like it")
    editor.press(page, "Enter")
    page.keyboard.type("[mem")
    editor.press(page, "Enter")
    expect(prompt).to_have_value("Hello [\nso, [mem\nor [nothing like it\n[membership]")


def test_blocks_without_a_name_are_called_by_their_question(windows):
    unnamed = {"type": "open_numeric", "prompt": "For how many years have you been a member of the club?"}
    page = editor.opened(windows, MEMBERSHIP, unnamed, WHY | {"precondition": "q2 > 3"}, LEVEL)
    editor.select(page, 3)
    question = "For how many years have you been a member of the club?"

    editor.logic(page).get_by_text("Only when").click()
    offered = editor.logic(page).get_by_label("Block or variable").locator("optgroup").first.locator("option")
    expect(offered).to_have_text(["membership · Block 1", f"{question} · Block 2", "why · Block 3"])
    page.get_by_label("Formula").fill("")
    page.keyboard.type("[me")
    expect(editor.suggestions(page)).to_contain_text(["For how many", "membership"])
    editor.press(page, "Escape")
    page.get_by_label("Formula").fill("")
    page.keyboard.type("[how many")
    expect(editor.suggestions(page)).to_have_text([re.compile("For how many .* written \\[Q1] · Block 2 ")])
    editor.press(page, "Enter")
    assert editor.block(page, 3)["calculated_formula"] == "[Q1]"
    page.get_by_role("button", name="Flow").click()
    flow = page.get_by_role("dialog", name="Flow of the script")
    expect(flow.locator(".flow-past title").first).to_have_text(f"when “{question}” is more than 3")
    expect(flow.locator(".flow-name")).to_contain_text(["1 · membership", "Block 2", "3 · why"])
    page.keyboard.press("Escape")
    editor.select(page, 1)
    page.get_by_role("button", name="Jump to this block").click()

    expect(page.locator(".preview-path")).to_contain_text("2 For how many years")


def test_declared_fields_are_completed_in_logic_formulas_and_texts(windows):
    page = editor.opened(
        windows, WHY | {"precondition": "true"}, LEVEL, settings={"hidden_fields": ["customer", "utm_source"]}
    )
    editor.select(page, 0)
    text = editor.logic(page).get_by_label("Hidden when")

    text.fill("")
    page.keyboard.type("field.")
    expect(editor.suggestions(page)).to_contain_text(["field.customer", "field.utm_source"])
    page.keyboard.type("u")
    editor.press(page, "ArrowDown", "Enter")
    page.keyboard.type(' = "mail" AND cust')
    editor.press(page, "ArrowDown", "Enter")
    expect(text).to_have_value('field.utm_source = "mail" AND field.customer')
    prompt = page.get_by_role("textbox", name="Question")
    prompt.fill("")
    page.keyboard.type("Hello [cust")
    editor.press(page, "Enter")
    expect(prompt).to_have_value("Hello [field.customer]")
    editor.select(page, 1)
    formula = page.get_by_label("Formula")
    formula.fill("")
    page.keyboard.type("if [field.c")
    editor.press(page, "Enter")
    page.keyboard.type(' == "vip" then 2 else 1')

    expect(formula).to_have_value('if [field.customer] == "vip" then 2 else 1')
    editor.expect_kept(page)
    expect(page.locator(".problems li.violation:visible")).to_have_count(0)


def test_a_row_compares_a_field_with_the_values_of_an_anonymous_project(windows, check_accessibility):
    page = editor.opened(
        windows,
        WHY,
        settings={"privacy_mode": "anonymous", "hidden_fields": {"campaign": ["mail", "poster"]}},
    )
    editor.select(page, 0)
    logic = editor.logic(page)

    logic.get_by_text("Only when").click()
    expect(logic.get_by_label("Block or variable").locator("option:checked")).to_have_text("Field “campaign”")
    expect(logic.get_by_label("Value").locator("option")).to_have_text(["mail", "poster"])
    logic.get_by_label("Value").select_option("poster")
    check_accessibility(page)

    assert editor.block(page, 0)["show_when"] == {"variable": "field.campaign", "op": "eq", "value": "poster"}
    logic.get_by_label("Comparison").select_option("is one of")
    logic.get_by_label("mail").check()
    editor.expect_kept(page)
    assert editor.block(page, 0)["show_when"]["value"] == ["mail", "poster"]
    logic.get_by_role("button", name="Edit as text").click()
    text = logic.get_by_label("Shown only when")
    expect(text).to_have_value(re.compile(r"field\.campaign in \["))
    text.fill("")
    page.keyboard.type("field.campaign = ")
    expect(editor.suggestions(page)).to_have_text(["mail", "poster"])


def test_a_row_compares_a_field_with_any_text_elsewhere(windows):
    page = editor.opened(windows, MEMBERSHIP, WHY, settings={"hidden_fields": ["customer"]})
    editor.select(page, 1)
    logic = editor.logic(page)

    logic.get_by_text("Only when").click()
    logic.get_by_label("Block or variable").select_option("Field “customer”")
    logic.get_by_label("Value").fill("007")

    assert editor.block(page, 1)["show_when"] == {"variable": "field.customer", "op": "eq", "value": "007"}
