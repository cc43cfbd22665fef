"""The tab Share in a browser: the QR code, the short address, and the lines to paste."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import project_staff, tab
from tests.support.surveys.scenario import CHOICE

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_page_is_shared_by_qr_code_and_short_address(
    windows: Any, check_every_look: Callable[[Page], None]
) -> None:
    """Rules 6.228 and 6.229."""
    made, staff = scenario.project(CHOICE), project_staff()
    page = windows.open("")
    name = settings.SESSION_COOKIE_NAME
    cookie = {"name": name, "value": staff.client.cookies[name].value, "url": windows.address}
    page.context.add_cookies([cookie])
    page.goto(tab(made.pk, "share"))

    code = page.get_by_role("img", name=f"QR code of {settings.BASE_URL}/s/{made.slug}")
    assert code.evaluate("each => each.complete && each.naturalWidth > 100")
    page.get_by_role("button", name="Make a short address").click()
    made.refresh_from_db()
    expect(page.get_by_label("Short address")).to_have_value(f"{settings.BASE_URL}/q/{made.short_code}")
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download as PNG").click()
    assert downloading.value.suggested_filename == "qr-code.png"
    page.get_by_text("For the builder of that page").click()
    expect(page.get_by_label("It has events")).to_have_value(re.compile("colloquy:completed"))
    check_every_look(page)
