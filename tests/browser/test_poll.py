from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser.controls import choose, control, go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING

pytestmark = pytest.mark.django_db(transaction=True)

CHANGEABLE: dict[str, Any] = {
    "type": "poll",
    "change_poll": True,
    "poll_results_mode": "public",
    "max_completes_per_user": 1,
}


@pytest.mark.parametrize("has_script", [True, False])
def test_vote_change_and_take_back(windows, check_accessibility, has_script):
    made = scenario.project({**SAYING, "prompt": "One question."}, CHOICE, **CHANGEABLE)
    page = windows.open(f"/s/{made.slug}", java_script_enabled=has_script)
    expect(page.locator("#history")).to_contain_text("One question.")
    if has_script:
        check_accessibility(page)

    choose(page, "red")
    page.get_by_role("button", name="Vote").click()
    question(page, "Thank you.")
    expect(page.locator(".bars .own")).to_contain_text("red")
    if has_script:
        page.get_by_text("Show as a table").click()
        check_accessibility(page)

    page.get_by_role("button", name="Change my vote").click()
    expect(control(page, "red")).to_be_checked()
    choose(page, "green")
    go_on(page)
    expect(page.locator(".bars .own")).to_contain_text("green")
    assert scenario.counts(made) == {"answered": 1, "completed": 1, "listed": 1}

    page.get_by_role("button", name="Take my vote back").click()
    question(page, "Take your vote back?")
    page.get_by_role("button", name="No, keep it").click()
    expect(page.locator(".bars .own")).to_contain_text("green")
    page.get_by_role("button", name="Take my vote back").click()
    question(page, "Take your vote back?")
    if has_script:
        check_accessibility(page)
    page.get_by_role("button", name="Yes, take it back").click()
    question(page, "Prompt 1.")
    assert scenario.counts(made) == {"answered": 0, "completed": 0, "listed": 0}


def test_the_results_so_far_can_be_opened_before_voting(windows, check_accessibility):
    made = scenario.project(CHOICE, **CHANGEABLE)
    page = windows.open(f"/s/{made.slug}")
    expect(page.locator("[data-results]")).to_be_hidden()

    page.get_by_text("See the results so far").click()

    expect(page.locator("[data-results]")).to_be_visible()
    check_accessibility(page)


def test_a_bar_is_as_long_as_its_share(windows):
    made = scenario.project(CHOICE, **CHANGEABLE)
    for place in (0, 0, 0, 1):
        scenario.say(scenario.begin(made), place)
    page = windows.open(f"/s/{made.slug}")
    page.get_by_text("See the results so far").click()

    shares = page.locator(".bars svg").evaluate_all(
        "all => all.map(one => { const width = each => each.getBoundingClientRect().width;"
        " return width(one.firstChild) / width(one) })"
    )

    assert shares == pytest.approx([0.75, 0.25], abs=0.005)
