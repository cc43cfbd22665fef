"""Themes for staff in a browser: changed by keyboard, followed to their answers, and put right."""

import pytest
from playwright.sync_api import expect

from surveys.services.ai_work import codebook
from tests.support.browser.staff_results import for_staff
from tests.support.surveys.read_answers import read_survey, theme

pytestmark = pytest.mark.django_db(transaction=True)


def titles(made):
    return [each.title for each in codebook.live(block_id=made.blocks.get(type="open_text").pk)]


def test_themes_are_changed_by_keyboard_and_their_answers_put_right(windows, check_every_look):
    made = read_survey(name="Service")
    page = for_staff(windows, made)

    page.get_by_role("link", name="Edit the themes").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Save the themes")).to_be_visible()
    check_every_look(page)
    price = page.get_by_role("group", name="Price")
    price.get_by_label("Title").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("Cost")
    page.keyboard.press("Tab")
    expect(price.get_by_label("Description")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.get_by_role("group", name="New theme 1").get_by_label("Title").focus()
    page.keyboard.type("cost")
    page.keyboard.press("Enter")

    expect(page.get_by_role("alert")).to_contain_text("Another theme has this title.")
    check_every_look(page)
    page.get_by_role("alert").get_by_role("link").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("Staff")
    page.keyboard.press("Enter")

    expect(page.get_by_text("Saved.")).to_be_visible()
    assert titles(made) == ["Cost", "Speed", "Staff"]

    page.goto(f"/admin/surveys/project/{made.pk}/results/answers/{made.blocks.get(type='open_text').pk}/")
    page.get_by_role("link", name="Cost", exact=True).click()
    expect(page.locator(".written > li")).to_have_count(2)
    check_every_look(page)
    page.get_by_role("link", name="Put the themes right").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Staff")).to_be_visible()
    check_every_look(page)
    page.get_by_label("Staff").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Save").press("Enter")

    expect(page.locator(".read-as", has_text="put right by staff")).to_contain_text("Staff")
    assert f"theme={theme(made, 'Cost')}" in page.url
    page.locator(".written a").first.click()
    expect(page.locator(".way .read-as")).to_be_visible()
    check_every_look(page)
