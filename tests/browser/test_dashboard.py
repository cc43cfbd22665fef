"""The dashboard's charts in a browser: chosen, dragged, moved by keys and buttons, shared and printed."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from surveys.models import Dashboard
from tests.support.browser import answered_surveys
from tests.support.browser.staff_results import for_staff

pytestmark = pytest.mark.django_db(transaction=True)


def order_of(page: Any) -> list[str]:
    found: list[str] = page.locator("[data-row] input[name=order]").evaluate_all(
        "all => all.map(e => e.value)"
    )
    return found


def test_charts_are_ordered_by_drag_keys_and_buttons(windows: Any, check_every_look: Any) -> None:
    """Rule 6.379."""
    made = answered_surveys.answered(share_results=True)
    page = for_staff(windows, made, tab="results/dashboard")
    first, second, third, *others = order_of(page)
    check_every_look(page)

    grip = page.locator("[data-row] .grip").first.bounding_box()
    below = page.locator("[data-row]").nth(1).bounding_box()
    page.mouse.move(grip["x"] + 4, grip["y"] + 4)
    page.mouse.down()
    page.mouse.move(grip["x"] + 4, below["y"] + below["height"] - 2, steps=5)
    page.mouse.up()
    assert order_of(page) == [second, first, third, *others]
    page.locator("[data-row] input[type=checkbox]").nth(2).focus()
    page.keyboard.press("Alt+ArrowUp")
    assert order_of(page) == [second, third, first, *others]
    expect(page.locator("[data-row] input[type=checkbox]").nth(1)).to_be_focused()
    expect(page.locator("[data-moved]")).to_contain_text("is at place 2 of")
    page.locator("[data-row]").nth(0).get_by_role("button").last.click()
    assert order_of(page) == [third, second, first, *others]

    for n in (0, 2):
        page.locator("[data-row] input[type=checkbox]").nth(n).check()
    page.get_by_role("button", name="Save the dashboard").click()

    expect(page.locator("section.chart")).to_have_count(2)
    assert Dashboard.objects.get().block_ids == [int(third), int(first)]
    check_every_look(page)
    page.emulate_media(media="print")
    expect(page.locator(".folded")).to_be_hidden()
    expect(page.locator("section.chart").first).to_be_visible()
