"""The flow of the script in the editor, and its logic on a phone, in a real browser."""

from __future__ import annotations

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
YEARS: dict[str, Any] = {"type": "open_numeric", "name": "years", "prompt": "For how long?"}
WHY: dict[str, Any] = {"type": "open_text", "name": "why", "prompt": "Why?"}


def test_the_flow_is_drawn_and_leads_to_blocks(windows, check_accessibility):
    page = editor.opened(
        windows,
        MEMBERSHIP,
        WHY | {"precondition": 'membership = "guest"'},
        YEARS | {"precondition": 'membership != "guest" OR membership != "member"'},
    )

    page.get_by_role("button", name="Flow").press("Enter")
    dialog = page.get_by_role("dialog", name="Flow of the script")
    expect(dialog.get_by_role("status")).to_have_text("Never reached: years.")
    expect(dialog.locator(".flow-past title")).to_have_text(["when membership is Guest", "always"])
    check_accessibility(page)
    dialog.get_by_role("button", name="List").click()
    expect(dialog.get_by_role("listitem").first).to_contain_text(
        "Leads to 2 · why unless membership is Guest"
    )
    check_accessibility(page)
    dialog.get_by_role("button", name="Drawing").click()
    link = dialog.get_by_role("link", name="2 · why")
    link.focus()
    editor.press(page, "Enter")

    expect(dialog).to_have_count(0)
    expect(page.get_by_role("heading", name="Block 2")).to_be_visible()
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()


def test_on_a_phone_everything_fits(windows, check_accessibility):
    condition = {
        "all": [
            {"block": "membership", "op": "eq", "value": "guest"},
            {"block": "years", "op": "gte", "value": 3},
        ]
    }
    page = editor.opened(windows, MEMBERSHIP, YEARS, WHY | {"show_when": condition}, phone=True)
    page.set_viewport_size({"width": 375, "height": 740})

    page.get_by_role("button", name="Edit", exact=True).click()
    editor.select(page, 2)
    expect(editor.logic(page).get_by_label("Comparison").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_accessibility(page)
    page.get_by_role("button", name="Blocks", exact=True).click()
    page.get_by_role("button", name="Flow").click()
    expect(page.get_by_role("dialog").get_by_role("listitem").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_accessibility(page)
