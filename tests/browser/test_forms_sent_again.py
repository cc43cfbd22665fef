"""Forms that make something, sent once more after the browser's Back: they make nothing twice."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from tests.support.creation_forms import FORMS, address_of, somebody
from tests.support.staff import Staff

pytestmark = pytest.mark.django_db(transaction=True)
# One that leads to what it makes, one that shows a secret, one that leads to its own page.
SENT_HERE = ("xp_achievement_add", "communities_apikey_add", "communities_member_invite_people")

FILL_IN = """([form, values]) => {
  for (const [name, value] of Object.entries(values)) {
    const field = form.elements.namedItem(name);
    if (field.type === "checkbox") field.checked = true;
    else field.value = value;
  }
}"""


def send(page: Page, values: dict[str, str]) -> None:
    """Fill in the form of a page, send it, and wait for the next page."""
    form = page.locator("main form:has(input[name=ticket])").first
    page.evaluate(FILL_IN, [form.element_handle(), values])
    with page.expect_event("load"):
        form.evaluate("form => form.requestSubmit()")


def sign_in(page: Page, staff: Staff, address: str) -> None:
    session = staff.client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": address}])


def test_a_form_that_is_sent_again_after_back_makes_nothing_and_says_so(windows: Any) -> None:
    page = windows.open()
    for name in SENT_HERE:
        model, values = FORMS[name]
        staff = somebody(name)
        sign_in(page, staff, windows.address)
        address = address_of(name, staff)
        page.goto(address)
        ticket = page.locator("[name=ticket]").first.input_value()
        before = model._default_manager.count()
        send(page, values)
        assert model._default_manager.count() == before + 1, name

        page.go_back()
        assert page.locator("[name=ticket]").first.input_value() == ticket, name
        send(page, values)

        assert model._default_manager.count() == before + 1, name
        expect(page.get_by_text("sent before").first).to_be_visible()
        page.goto(address)
        assert page.locator("[name=ticket]").first.input_value() != ticket, name
