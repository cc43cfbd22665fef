"""Responses over time and the histogram of numbers, in a browser."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from surveys.models import Conversation
from tests.support.browser.answered_surveys import answered
from tests.support.browser.sizes import expect_to_fit_everywhere
from tests.support.browser.staff_results import for_staff

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def test_the_page_over_time_is_led_to_and_fits(windows):
    made = answered()
    for n, each in enumerate(Conversation.objects.filter(project=made)):
        earlier = timedelta(days=n * n % 17)
        each.started_at -= earlier
        each.completed_at = each.completed_at and each.completed_at - earlier
        each.save(update_fields=["started_at", "completed_at"])
    page = for_staff(windows, made)

    numbers = page.get_by_role("region", name="How many games do you play")
    expect(numbers).to_contain_text("Middle half")
    expect(numbers.get_by_role("img")).to_be_visible()
    expect_to_fit_everywhere(page)
    picture(page, "numbers")
    page.get_by_role("link", name="Responses over time").click()

    expect(page.get_by_role("heading", name="Responses over time")).to_be_visible()
    expect(page.get_by_role("img").first).to_be_visible()
    expect(page.get_by_role("columnheader", name="Saw it")).to_be_visible()
    expect_to_fit_everywhere(page)
    picture(page, "over-time")
