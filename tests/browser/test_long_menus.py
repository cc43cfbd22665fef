"""Long menus: known lists in the editor, and a field for searching on the respondent's page."""

import os

import pytest
from playwright.sync_api import expect

from tests.support.browser import editor
from tests.support.caller import CHOICE, Caller
from tests.support.surveys import scenario

pytestmark = pytest.mark.django_db(transaction=True)
TOWNS = [f"Town {n}" for n in range(40)] + ["Ålesund", "Oslo", "Old Oslo"]
MENU = {
    "type": "single_punch",
    "name": "town",
    "prompt": "Where do you live?",
    "answer_style": "select_menu",
    "required": True,
    "options": TOWNS,
}


def shoot(page, name):
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png")


@pytest.mark.parametrize("phone", [False, True])
def test_a_long_menu_is_searched_by_typing(windows, check_accessibility, phone):
    """Rules 3.181, 3.741 and 3.860."""
    made = scenario.project({**MENU, "required": False})
    page = windows.open(f"/s/{made.slug}", phone=phone)
    # Before the script has drawn its field, the native menu is a combobox too.
    field = page.locator("input[role=combobox]")
    expect(field).to_have_accessible_name("Where do you live?")

    field.press_sequentially("oslo")
    expect(page.get_by_role("option")).to_have_text(["Oslo", "Old Oslo"])
    check_accessibility(page)
    shoot(page, f"menu-1-{phone}")
    field.fill("nowhere")
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#field-error")).to_contain_text("Choose one from the list.")
    field.fill("ales")
    field.blur()
    expect(field).to_have_value("Ålesund")
    field.fill("old")
    field.press("Enter")
    expect(field).to_have_value("Old Oslo")
    field.fill("ales")
    field.press("Enter")
    expect(field).to_have_value("Ålesund")
    expect(page.get_by_role("listbox")).to_be_hidden()
    field.press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_have_text("Oslo")
    field.press("Escape")
    expect(field).to_have_value("Ålesund")
    own_id = page.locator("select option").last.get_attribute("value")
    for words in ("nowhere", "sund", own_id):  # inside an option, but no beginning; a number is no id
        field.fill(words)
        field.blur()
        expect(field).to_have_value(words)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#field-error:not(.mended)")).to_contain_text("Choose one from the list.")
        expect(field).to_have_value(words)
    field.fill("ales")
    field.press("Enter")
    page.reload()
    expect(field).to_have_value("Ålesund")
    page.get_by_role("button", name="Continue").click()

    expect(page.get_by_text("Ålesund")).to_be_visible()


def test_a_long_menu_is_a_native_one_without_javascript(windows):
    """Rule 3.181."""
    page = windows.open(f"/s/{scenario.project(MENU).slug}", java_script_enabled=False)

    page.get_by_label("Where do you live?").select_option("Oslo")
    page.get_by_role("button", name="Continue").click()

    expect(page.get_by_text("Oslo", exact=True)).to_be_visible()


def test_countries_in_a_language_become_options(windows, check_accessibility):
    """Rule 3.180."""
    caller = Caller()
    project = editor.new_project(caller, {**CHOICE, "answer_style": "select_menu"})
    page = editor.open_editor(windows, caller, project)

    page.get_by_role("button", name="Paste a list").click()
    page.get_by_label("Begin with a known list").select_option("Countries")
    page.get_by_label("Language", exact=True).select_option("de")
    check_accessibility(page)
    shoot(page, "known")
    page.get_by_role("button", name="Add them").click()
    editor.save(page)

    (block,) = editor.stored(caller, project)
    names = {option["value"]: option["label"] for option in block["options"]}
    assert len(names) == 3 + 250
    assert (names["DE"], names["NO"]) == ("Deutschland", "Norwegen")


def test_lines_that_repeat_are_named(windows):
    """Rule 3.180."""
    caller = Caller()
    page = editor.open_editor(windows, caller, editor.new_project(caller, CHOICE))

    page.get_by_role("button", name="Paste a list").click()
    page.keyboard.insert_text("red\nviolet\nviolet\n")
    page.get_by_role("button", name="Add them").click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text(
        "1 option added; 2 lines were left out, because the question has them already: “red”, “violet”."
    )
    assert editor.values(page)[-1] == "violet"
