"""The page that crosses two questions, on a desk, on a phone and by keyboard."""

from __future__ import annotations

import os
from typing import Any

import pytest
from playwright.sync_api import expect

from surveys.models import Project
from tests.support.browser.sizes import expect_to_fit_everywhere
from tests.support.browser.staff_results import for_staff
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.panel import Person, panel, people

pytestmark = pytest.mark.django_db(transaction=True)
REDS = [Person("mail", "red", ("saw",), ("saw", "axe", "file"), 5, 9, 20, is_completed=True)] * 14


@pytest.fixture
def made() -> Project:
    return Project.objects.get(pk=int(panel(Caller(), [*people(60, seed=3), *REDS])["id"]))


def pictured(page: Any, name: str) -> None:
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def test_two_questions_are_chosen_by_keyboard_and_crossed(
    windows: Any, check_every_look: Any, made: Project
) -> None:
    """Rule 6.325."""
    page = for_staff(windows, made)
    page.get_by_role("link", name="Cross two questions").click()
    pictured(page, "empty")
    page.get_by_label("Rows").select_option("Which colour?")
    page.get_by_label("Columns").select_option("How old?")
    page.get_by_label("Numbers from").last.fill("18, 40")
    page.get_by_role("button", name="Apply").press("Enter")

    expect(page.locator(".crossed tbody tr")).to_have_count(4)
    expect(page.locator(".crossed thead th").nth(1)).to_have_text("18 to under 40")
    pictured(page, "crossed")
    check_every_look(page)
    page.goto(page.url.replace("&columns=", "&row_bands=x&columns="))
    pictured(page, "fault")
    expect(page.get_by_role("alert")).to_be_visible()
    age = scenario.script(made).blocks[5].id
    page = for_staff(windows, made, f"?segment_by={age}&bands=18,40")
    expect_to_fit_everywhere(page)
    pictured(page, "bands")
