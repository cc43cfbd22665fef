"""Questions that the page's address fills in, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from surveys.models import Answer, Conversation
from tests.support.browser.controls import go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)
NAME: dict[str, Any] = {**TEXT, "name": "First name", "prompt": "Your name?"}
COLOUR: dict[str, Any] = {**CHOICE, "name": "colour", "prompt": "Which colour?"}
BEST: dict[str, Any] = {
    "type": "ranking",
    "name": "best",
    "prompt": "Which is best?",
    "options": ["a", "b", "c"],
}
SCORE: dict[str, Any] = {"type": "nps", "name": "score", "prompt": "How likely?"}
WHY: dict[str, Any] = {**TEXT, "name": "why", "prompt": "Why?"}


def stored() -> list[tuple[str, str]]:
    return list(Answer.objects.order_by("block_id", "ordinal").values_list("block__name", "value"))


def test_questions_are_passed_up_to_a_ranking_whose_order_is_said_to_be_right(
    windows: Any, check_accessibility: Any
) -> None:
    made = scenario.project(NAME, COLOUR, BEST, SCORE, WHY)

    page = windows.open(f"/s/{made.slug}?first_name=Ann&colour=green&best=c,a,b&score=9&skip=1")

    question(page, "Which is best?")
    expect(page.locator("#history")).to_contain_text("Ann")
    expect(page.locator(".rank label, .rank .text")).to_have_text(["c", "a", "b"])
    check_accessibility(page)
    assert not Conversation.objects.exists()
    page.get_by_role("button", name="Keep this order").click()
    go_on(page)
    question(page, "Why?")
    expect(page.locator("#history")).to_contain_text("9")
    assert [value for name, value in stored() if name != "best"] == ["Ann", "green", "9"]
    options = list(Answer.objects.filter(block__name="best").order_by("ordinal").values_list("option__value"))
    assert options == [("c",), ("a",), ("b",)]


def test_going_back_before_anything_is_saved_shows_each_question_filled_in(windows: Any) -> None:
    made = scenario.project(NAME, COLOUR, WHY)
    page = windows.open(f"/s/{made.slug}?first_name=Ann&colour=green&skip=1")
    question(page, "Why?")

    page.get_by_role("button", name="Back").click()
    question(page, "Your name?")
    expect(page.get_by_role("textbox")).to_have_value("Ann")
    page.get_by_role("textbox").fill("Bea")
    go_on(page)
    question(page, "Which colour?")
    expect(page.get_by_role("radio", name="green")).to_be_checked()
    page.reload()
    expect(page.get_by_role("radio", name="green")).to_be_checked()

    assert stored() == [("First name", "Bea")]
