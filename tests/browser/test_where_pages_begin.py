"""Where pages of many answers begin: the review, and the copy at the end."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.controls import go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 8


def answered(windows: Any, *, phone: bool, **settings: Any) -> Page:
    made = scenario.project(*[{**TEXT, "prompt": f"Question {n}?"} for n in range(MANY)], **settings)
    page: Page = windows.open(f"/s/{made.slug}", phone=phone)
    for n in range(MANY):
        question(page, f"Question {n}?")
        page.locator("textarea").fill("A line of text. " * 8)
        go_on(page)
    return page


def expect_top(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollHeight > innerHeight * 1.2")
    expect(page.locator("#question")).to_be_in_viewport(ratio=1)
    assert page.evaluate("scrollY") == 0


def test_below_a_title_of_two_lines_the_last_exchange_is_whole_or_gone(windows: Any) -> None:
    name = "What the members of the harbour chess club think about the long evenings of this year"
    made = scenario.project(TEXT, TEXT, TEXT, name=name)
    page: Page = windows.open(f"/s/{made.slug}", phone=True)
    for n in range(2):
        question(page, f"Prompt {n}.")
        page.locator("textarea").fill("So.")
        go_on(page)
    question(page, "Prompt 2.")

    header = page.locator(".top").bounding_box()
    last = page.locator(".history li").last.bounding_box()

    assert header is not None
    assert last is not None
    assert header["height"] > 60
    end = header["y"] + header["height"]
    assert last["y"] >= end + 12 or last["y"] + last["height"] <= end


def test_the_review_begins_at_its_top(windows: Any) -> None:
    """Rule 6.230."""
    page = answered(windows, phone=False, review=True)

    question(page, "Please look at your answers before you send them.")
    expect(page.locator("#question")).to_be_focused()
    expect_top(page)


def test_the_copy_and_the_word_of_its_mail_are_seen(windows: Any) -> None:
    """Rules 6.230 and 6.231."""
    page = answered(windows, phone=True, mail_copy=True)
    page.get_by_role("button", name="Keep a copy of my answers").click()
    question(page, "Your answers")
    expect(page.locator("#question")).to_be_focused()
    expect_top(page)

    page.get_by_label("Mail a copy to").fill("ada@example.org")
    page.get_by_role("button", name="Send the copy").click()

    word = page.get_by_role("status").filter(has_text="on its way to ada@example.org")
    expect(word).to_be_focused()
    expect(word).to_be_in_viewport(ratio=1)
    expect_top(page)
    expect(page.get_by_label("Mail a copy to")).to_be_hidden()
