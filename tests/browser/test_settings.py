"""Settings of a project on its page: one click goes on, consent, review, ends, and what the device keeps."""

import re
import uuid
from typing import Any

import pytest
from playwright.sync_api import expect

from surveys.models import Answer, Conversation
from tests.support.browser.controls import choose, control, go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)
MOMENT = 600  # milliseconds, as in survey.js
RATING = {"type": "rating", "prompt": "How good?"}
COLOUR = {**CHOICE, "prompt": "Which colour?"}
LAST = {**TEXT, "prompt": "Anything else?"}


def values():
    return list(Answer.objects.order_by("block__position").values_list("value", flat=True))


def with_stopped_clock(windows, made, **options):
    """The page of a project, whose timers run only when the test lets them."""
    page = windows.open(
        user_agent=f"Test {made.pk} {uuid.uuid4()}", **options
    )  # no other test has this clock
    page.clock.install(time=0)
    page.goto(f"/s/{made.slug}")
    page.clock.pause_at(10_000)
    return page


# --- One click goes on ----------------------------------------------------------------------------


def test_a_click_on_a_choice_goes_on_after_a_moment_and_a_key_does_not(windows):
    first, second, third, fourth = (f"Which colour on day {n}?" for n in range(4))
    choices = [{**CHOICE, "prompt": each} for each in (first, second, third, fourth)]
    made = scenario.project(*choices, RATING, LAST, advance_on_choice=True)
    page = with_stopped_clock(windows, made)

    # By keyboard nothing goes on before Enter.
    control(page, "red").focus()
    page.keyboard.press("ArrowDown")
    page.clock.run_for(5 * MOMENT)
    expect(control(page, "green")).to_be_checked()
    page.keyboard.press("1")
    page.clock.run_for(5 * MOMENT)
    expect(control(page, "red")).to_be_checked()
    question(page, first)
    page.keyboard.press("Enter")
    page.clock.run_for(1000)
    question(page, second)

    # A key after the click keeps the question.
    page.get_by_text("red").last.click()
    page.keyboard.press("ArrowDown")
    page.clock.run_for(5 * MOMENT)
    question(page, second)
    expect(control(page, "green")).to_be_checked()
    page.keyboard.press("Enter")
    page.clock.run_for(1000)
    question(page, third)

    # A choice can be changed within the moment.
    page.get_by_text("green").last.click()
    page.clock.run_for(MOMENT - 1)
    page.get_by_text("red").last.click()
    page.clock.run_for(MOMENT - 1)
    question(page, third)
    page.clock.run_for(1000)
    question(page, fourth)

    page.get_by_text("green").last.click()
    page.clock.run_for(MOMENT - 1)
    question(page, fourth)
    page.clock.run_for(1000)
    question(page, "How good?")
    page.locator("label.star").nth(2).click()
    page.clock.run_for(MOMENT + 1000)
    question(page, "Anything else?")
    assert values() == ["red", "green", "red", "green", "3"]


def test_where_the_button_is_needed_a_click_chooses_alone(windows):
    cases: list[tuple[list[Any], dict[str, Any]]] = [
        ([COLOUR, LAST], {"advance_on_choice": False}),
        ([COLOUR], {"advance_on_choice": True}),
        ([{**COLOUR, "when_correct": "Yes."}, LAST], {"advance_on_choice": True, "scoring_enabled": True}),
    ]
    page = None
    for blocks, fields in cases:
        made = scenario.project(*blocks, **fields)
        if page:
            page.goto(f"/s/{made.slug}")
        else:
            page = with_stopped_clock(windows, made)

        page.get_by_text("red").click()
        page.clock.run_for(5 * MOMENT)

        question(page, "Which colour?")
        assert values() == []


# --- Consent --------------------------------------------------------------------------------------


def test_consent_is_asked_for_before_the_first_answer_is_stored(windows, check_every_look):
    made = scenario.project(COLOUR, LAST, advance_on_choice=True, consent="I agree.\nFor a year.")
    page = windows.open(f"/s/{made.slug}")
    check_every_look(page)

    page.get_by_text("green").click()
    go_on(page)
    expect(page.locator("#consent")).to_be_focused()
    expect(page.get_by_text("Please tick the box to agree.")).to_be_visible()
    expect(control(page, "green")).to_be_checked()
    check_every_look(page)
    assert not Conversation.objects.exists()
    expect(page.get_by_role("checkbox", name="I agree. For a year.")).to_be_focused()
    page.keyboard.press("Space")
    go_on(page)

    question(page, "Anything else?")
    assert Conversation.objects.get().state["consent"]["text"] == "I agree.\nFor a year."


# --- The review -----------------------------------------------------------------------------------


def test_the_review_by_keyboard(windows, check_every_look):
    made = scenario.project(COLOUR, {**TEXT, "prompt": "Why?"}, review=True)
    page = windows.open(f"/s/{made.slug}")
    choose(page, "red")
    go_on(page)
    question(page, "Why?")
    page.locator("textarea").fill("A long reason. " * 20)
    go_on(page)

    question(page, "Please look at your answers before you send them.")
    expect(page.locator("#question")).to_be_focused()
    check_every_look(page)
    page.get_by_role("button", name=re.compile("Change.*Which colour?")).focus()
    page.keyboard.press("Enter")
    question(page, "Which colour?")
    choose(page, "green")
    go_on(page)
    question(page, "Please look at your answers")
    expect(page.locator("dd").first).to_have_text("green")
    page.get_by_role("button", name="Send my answers").click()

    question(page, "Thank you.")
    assert values()[0] == "green"


# --- Ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_script", [True, False])
def test_the_end_leads_on_at_once(windows, with_script):
    end = {"url": "https://example.com/thanks", "label": "On", "redirect": True}
    made = scenario.project(COLOUR, end=end)
    page = windows.open(java_script_enabled=with_script)
    page.route("https://example.com/**", lambda route: route.fulfill(body="You are there."))
    page.goto(f"/s/{made.slug}")

    control(page, "red").check(force=True)
    go_on(page)

    expect(page.get_by_text("You are there.")).to_be_visible()
    assert page.url == "https://example.com/thanks"


def test_the_end_has_a_button_and_hides_the_answers(windows, check_every_look):
    end = {"url": "https://example.com/thanks", "label": "To the club", "redirect": False}
    made = scenario.project(LAST, end=end)
    page = windows.open(f"/s/{made.slug}")
    page.locator("textarea").fill("a secret")
    go_on(page)
    expect(page.get_by_role("link", name="To the club")).to_be_visible()
    check_every_look(page)

    page.get_by_role("button", name="Hide my answers on this device").click()

    question(page, "You have answered this already.")
    assert "a secret" not in page.content()
    page.reload()
    assert "a secret" not in page.content()
