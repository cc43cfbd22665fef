"""An error at a field is gone once the answer changes, and nothing moves."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser.controls import choose, control, go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)
NEEDED = "This question needs an answer."
SEVERAL = {**CHOICE, "type": "multi_punch", "required": True}
ROW = {**CHOICE, "required": True, "group": "The evening"}


def test_a_tick_takes_the_error_away_and_moves_nothing(windows: Any, check_every_look: Any) -> None:
    """Rule 6.211."""
    made = scenario.project(SEVERAL, TEXT)
    page = windows.open(f"/s/{made.slug}")
    go_on(page)
    expect(page.locator(".error")).to_contain_text(NEEDED)
    box = control(page, "red")
    expect(box).to_have_accessible_description(re.compile(NEEDED))
    before = box.bounding_box()

    choose(page, "red")

    expect(page.locator(".error")).to_be_hidden()
    assert box.bounding_box() == before
    assert not page.locator("[aria-invalid], [aria-describedby~=field-error]").count()
    check_every_look(page)
    choose(page, "green")
    go_on(page)
    question(page, "Prompt 1.")


CONTROLS: list[dict[str, Any]] = [
    {**TEXT, "prompt": "Why?"},
    {"type": "open_numeric", "prompt": "How many?"},
    {"type": "rating", "prompt": "How good?"},
    {"type": "ranking", "prompt": "Which first?", "options": ["tea", "cake"]},
    {**CHOICE, "prompt": "Which?", "options": [f"option {n}" for n in range(60)]},
]


def test_every_control_takes_its_error_away(windows: Any) -> None:
    """Rule 6.211."""
    made = scenario.project(*[{**block, "required": True} for block in CONTROLS])
    page = windows.open(f"/s/{made.slug}")
    for block in CONTROLS:
        question(page, block["prompt"])
        go_on(page)
        expect(page.locator(".error")).to_be_visible()

        if block["type"] == "ranking":
            page.locator(".move:visible").nth(1).click()
        elif block["type"] == "rating":
            page.get_by_role("radio").nth(2).check(force=True)
        elif page.locator("select#field").count():
            page.locator("#field").select_option("option 3")
        elif page.get_by_role("radio").count():
            choose(page, "option 3")
        else:
            page.locator("#field").press_sequentially("4")

        expect(page.locator(".error")).to_be_hidden()
        assert not page.locator("[aria-invalid], [aria-describedby~=field-error]").count()
        go_on(page)
    question(page, "Thank you.")


def test_each_row_of_a_group_has_its_own(windows: Any) -> None:
    """Rule 6.211."""
    made = scenario.project({**ROW, "prompt": "The food?"}, {**ROW, "prompt": "The music?"})
    page = windows.open(f"/s/{made.slug}")
    go_on(page)
    expect(page.locator(".in-group .error")).to_have_count(2)

    page.get_by_role("radiogroup", name="The food?").get_by_role("radio", name="green").check()

    expect(page.locator(".in-group .error").first).to_be_hidden()
    expect(page.locator(".in-group .error").last).to_be_visible()
    expect(page.locator("fieldset[aria-invalid]")).to_have_count(1)
    page.get_by_role("radiogroup", name="The music?").get_by_role("radio", name="red").check()
    expect(page.locator(".in-group .error").last).to_be_hidden()
    expect(page.locator("fieldset[aria-invalid]")).to_have_count(0)
