"""Descriptions, formats and whole numbers in a real browser, with and without JavaScript."""

import pytest
from playwright.sync_api import expect

from tests.support.browser.controls import go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

FORMATS = [("email", "ann@example.org"), ("url", "https://example.org"), ("phone", "+49 30 12345")]


def formatted(format_, **fields):
    return {"type": "open_text", "format": format_, "required": True, **fields}


def test_every_format_is_answered_and_a_description_is_read_with_its_control(windows, check_accessibility):
    """Rules 6.130 and 6.132."""
    made = scenario.project(
        {**CHOICE, "description": "Choose the one\nthat you like."},
        *(formatted(name, description=f"Your {name}.") for name, _ in FORMATS),
        formatted("date"),
        {"type": "open_numeric", "whole": True},
    )
    page = windows.open(f"/s/{made.slug}")
    check_accessibility(page)
    expect(page.get_by_role("group", name="Prompt 0.")).to_have_accessible_description(
        "Choose the one that you like."
    )
    page.get_by_text("red").click()
    go_on(page)
    for n, (name, value) in enumerate(FORMATS, start=1):
        question(page, f"Prompt {n}.")
        control = page.get_by_role("textbox")
        check_accessibility(page)
        expect(control).to_have_accessible_description(f"Your {name}. {page.locator('#help').inner_text()}")
        control.fill("nonsense")
        go_on(page)
        expect(page.locator("#field-error")).to_contain_text("such as")
        expect(page.get_by_role("textbox")).to_have_value("nonsense")
        page.get_by_role("textbox").fill(value)
        go_on(page)
    question(page, "Prompt 4.")
    page.locator("input[type=date]").fill("2026-01-31")
    go_on(page)
    question(page, "Prompt 5.")
    expect(page.locator("#field")).to_have_attribute("inputmode", "numeric")
    page.locator("#field").fill("3")
    go_on(page)
    expect(page.get_by_text("Thank you.")).to_be_visible()

    assert [value for _, value in scenario.answers_of(made)] == [
        "red",
        *(value for _, value in FORMATS),
        "2026-01-31",
        "3",
    ]


def test_a_long_description_and_a_long_address_fit_a_narrow_phone(windows):
    made = scenario.project(formatted("url", description=f"See https://{'a' * 200}.example"), TEXT)
    page = windows.open(f"/s/{made.slug}")
    page.set_viewport_size({"width": 320, "height": 640})

    assert page.evaluate("document.documentElement.scrollWidth") <= 320


ROW = {"type": "rating", "max": 5, "group": "How was the food?", "required": True}
PICK = {"type": "single_punch", "options": ["Never", "Sometimes", "Always"], "group": "How often?"}


@pytest.mark.parametrize("width", [320, 1280])
def test_a_group_is_one_screen_that_is_answered_by_keyboard_and_pointer(windows, check_accessibility, width):
    """Rule 6.134."""
    made = scenario.project(*([ROW] * 3), *([PICK] * 2), TEXT)
    page = windows.open(f"/s/{made.slug}")
    page.set_viewport_size({"width": width, "height": 800})
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.get_by_role("group", name="How was the food?")).to_be_visible()
    rows = page.get_by_role("radiogroup")
    expect(rows).to_have_count(3)

    rows.nth(1).get_by_role("radio", name="4 of 5 stars").check(force=True)
    go_on(page)
    expect(page.locator("p.error")).to_have_count(2)
    check_accessibility(page)
    expect(rows.nth(1).get_by_role("radio", name="4 of 5 stars")).to_be_checked()
    expect(rows.nth(0)).to_have_accessible_name("Prompt 0.")
    expect(rows.nth(0).get_by_role("radio", name="1 of 5 stars")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    expect(rows.nth(0).get_by_role("radio", name="2 of 5 stars")).to_be_checked()
    rows.nth(2).get_by_role("radio", name="1 of 5 stars").check(force=True)
    go_on(page)
    question(page, "How often?")
    check_accessibility(page)
    page.get_by_role("radiogroup", name="Prompt 4.").get_by_role("radio", name="Always").check(force=True)
    go_on(page)
    question(page, "Prompt 5.")
    page.get_by_role("button", name="Back").click()
    expect(
        page.get_by_role("radiogroup", name="Prompt 4.").get_by_role("radio", name="Always")
    ).to_be_checked()
    page.get_by_role("button", name="Back").click()
    question(page, "How was the food?")

    assert scenario.answers_of(made) == [
        ("Prompt 0.", "2"),
        ("Prompt 1.", "4"),
        ("Prompt 2.", "1"),
        ("Prompt 4.", "Always"),
    ]


def test_markdown_is_drawn_and_its_links_lead_to_a_new_tab(windows, check_accessibility):
    """Rule 6.135."""
    prompt = "Read [our **terms**](https://example.org/terms):\n- one\n- two"
    page = windows.open(f"/s/{scenario.project({**TEXT, 'prompt': prompt}).slug}")

    check_accessibility(page)
    expect(page.get_by_role("link", name="our terms")).to_have_attribute("target", "_blank")
    expect(page.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("textbox")).to_have_accessible_name("Read our terms: one two")
