"""What answering feels like: choices that stop in time, steps back, drafts that stay, signs for everybody."""

import uuid
from typing import Any

import pytest
from playwright.sync_api import expect

from surveys.engine.script import Scale
from tests.support.browser.controls import choose, control, go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

FULL = "That is the most you can choose. Take one away to choose another."
FIRST, SECOND, THIRD = ({**TEXT, "prompt": each} for each in ("What?", "And why?", "Anything else?"))
PLACES = {
    "type": "multi_punch",
    "prompt": "Where?",
    "max": 2,
    "options": ["Club", "Park", "Home", {"value": "Nowhere", "is_exclusive": True}],
}


def test_a_multi_punch_stops_at_its_maximum(windows, check_every_look):
    """Rule 6.210."""
    made = scenario.project(PLACES, THIRD)
    page = windows.open(f"/s/{made.slug}")
    choose(page, "Club")
    expect(control(page, "Home")).to_be_enabled()
    choose(page, "Park")

    expect(control(page, "Home")).to_be_disabled()
    expect(page.get_by_text(FULL)).to_have_attribute("role", "status")
    check_every_look(page)
    page.reload()
    expect(control(page, "Home")).to_be_disabled()
    control(page, "Park").focus()
    page.keyboard.press("3")
    expect(control(page, "Home")).not_to_be_checked()
    page.keyboard.press("Space")
    expect(control(page, "Home")).to_be_enabled()
    expect(page.get_by_text(FULL)).to_have_count(0)
    choose(page, "Home")
    choose(page, "Nowhere")
    expect(control(page, "Club")).to_be_enabled()
    choose(page, "Club")
    choose(page, "Home")
    go_on(page)
    question(page, "Anything else?")
    assert scenario.answers_of(made) == [("Where?", "Club"), ("Where?", "Home")]


def test_each_row_of_a_group_stops_at_its_own_maximum(windows):
    """Rule 6.210."""
    row = {**PLACES, "options": ["Club", "Park", "Home"], "group": "Where?"}
    page = windows.open(f"/s/{scenario.project(row, {**row, 'max': 1}).slug}")
    first, second = page.get_by_role("group", name="Prompt").or_(page.locator(".in-group")).all()
    first.get_by_label("Club").check(force=True)
    second.get_by_label("Club").check(force=True)

    expect(second.get_by_label("Home")).to_be_disabled()
    expect(first.get_by_label("Home")).to_be_enabled()


def test_one_click_can_be_undone_by_a_press_anywhere(windows):
    """Rule 6.177."""
    made = scenario.project(CHOICE, THIRD, advance_on_choice=True)
    page = windows.open(user_agent=f"Test {made.pk} {uuid.uuid4()}")  # no other test has this clock
    page.clock.install(time=0)
    page.goto(f"/s/{made.slug}")
    page.clock.pause_at(10_000)

    page.get_by_text("green").click()
    expect(page.locator(".button.main")).to_have_class("button main moving-on")
    page.locator("#question").click()
    expect(page.locator(".button.main")).to_have_class("button main")
    page.clock.run_for(5_000)
    question(page, "Prompt 0.")
    expect(control(page, "green")).to_be_checked()


def test_the_browser_s_back_steps_back_in_the_survey(windows):
    """Rule 6.215."""
    made = scenario.project(FIRST, CHOICE, {**SAYING, "prompt": "A word."}, THIRD)
    page = windows.open("/account/login/")
    page.goto(f"/s/{made.slug}")
    page.get_by_role("textbox").fill("one")
    go_on(page)
    question(page, "Prompt 1.")
    go_on(page)
    question(page, "A word.")
    go_on(page)
    question(page, "Anything else?")

    page.go_back()
    question(page, "A word.")
    page.go_back()
    question(page, "Prompt 1.")
    page.get_by_role("button", name="Back").click()
    question(page, "What?")
    expect(page.get_by_role("textbox")).to_have_value("one")
    go_on(page)
    question(page, "Prompt 1.")
    page.go_back()
    question(page, "What?")
    page.go_forward()
    question(page, "What?")
    expect(page.get_by_role("textbox")).to_have_value("one")
    page.go_back()
    expect(page).to_have_url(f"{windows.address}/account/login/")


def test_after_the_end_the_browser_s_back_leaves(windows):
    """Rule 6.215."""
    made = scenario.project(FIRST, SECOND)
    page = windows.open("/account/login/")
    page.goto(f"/s/{made.slug}")
    for prompt in ("And why?", "Thank you."):
        page.get_by_role("textbox").fill("one")
        go_on(page)
        question(page, prompt)

    page.go_back()

    expect(page).to_have_url(f"{windows.address}/account/login/")


def test_the_review_steps_back_too(windows, check_accessibility):
    """Rule 6.215."""
    page = windows.open(f"/s/{scenario.project(FIRST, SECOND, review=True).slug}")
    for prompt in ("And why?", "Please look at your answers"):
        page.get_by_role("textbox").fill("one")
        go_on(page)
        question(page, prompt)
    check_accessibility(page)

    page.go_back()

    question(page, "And why?")


@pytest.mark.parametrize("privacy_mode", ["semi-private", "anonymous"])
def test_a_draft_outlives_the_closed_window_but_not_on_anonymous_projects(windows, privacy_mode):
    """Rule 6.216."""
    made = scenario.project(FIRST, SECOND, privacy_mode=privacy_mode)
    page = windows.open(f"/s/{made.slug}")
    page.get_by_role("textbox").fill("one")
    go_on(page)
    question(page, "And why?")
    page.get_by_role("textbox").press_sequentially("Half a tho")
    context, address = page.context, page.url
    page.close()

    again = context.new_page()
    again.goto(address)

    question(again, "And why?")
    kept = "" if privacy_mode == "anonymous" else "Half a tho"
    expect(again.get_by_role("textbox")).to_have_value(kept)
    assert (again.evaluate("localStorage.length") > 0) is bool(kept)

    # And is forgotten after a month.
    again.evaluate(
        """() => Object.keys(localStorage).forEach((key) => {
            const kept = JSON.parse(localStorage.getItem(key));
            localStorage.setItem(key, JSON.stringify({ ...kept, at: Date.now() - 31 * 24 * 3600 * 1000 }));
        })"""
    )

    again.reload()
    expect(again.get_by_role("textbox")).to_have_value("")
    assert again.evaluate("localStorage.length") == 0


ENDS: list[tuple[dict[str, Any], list[str]]] = [
    ({"type": "nps"}, ["Not at all likely", *[""] * 9, "Extremely likely"]),
    ({"type": "rating", "max": 3, "scale": Scale(None, "Bad", "So so", "Good")}, ["Bad", "So so", "Good"]),
    ({"type": "rating", "max": 3, "scale": Scale("emoji", "Bad", None, "Good")}, ["Bad", "", "Good"]),
    ({"type": "nps", "answer_style": "select_menu"}, ["Not at all likely Extremely likely"]),
    (CHOICE, ["", ""]),
    (TEXT, [""]),
]


def test_the_ends_of_a_scale_describe_its_points_and_nothing_empty_describes_anything(windows):
    """Rule 6.218."""
    page = windows.open()
    for scale, ends in ENDS:
        page.goto(f"/s/{scenario.project(scale).slug}")

        fields = page.locator("#answer .field :is(input, select, textarea)").all()
        for each, end in zip(fields, ends, strict=True):
            expect(each).to_have_accessible_description(end)
            for name in (each.get_attribute("aria-describedby") or "").split():
                expect(page.locator(f"#{name}")).not_to_be_empty()


def test_a_number_pad_has_a_button_for_its_minus(windows, check_accessibility):
    """Rule 6.214."""
    numbers = {"decimal": {}, "numeric": {"whole": True, "min": -99}}
    made = scenario.project(*[{"type": "open_numeric", "prompt": each, **numbers[each]} for each in numbers])
    page = windows.open(f"/s/{made.slug}", phone=True)

    for keyboard in numbers:
        field = page.get_by_label(keyboard)
        expect(field).to_have_attribute("inputmode", keyboard)
        field.fill("12")
        check_accessibility(page)
        page.get_by_role("button", name="Change between plus and minus").click()
        expect(field).to_have_value("-12")
        expect(field).to_be_focused()
        go_on(page)
    question(page, "Thank you.")
    assert scenario.answers_of(made) == [("decimal", "-12"), ("numeric", "-12")]


def test_a_long_ranking_is_passed_with_few_tabs(windows, check_accessibility):
    """Rule 6.222."""
    options = [f"item {n}" for n in range(20)]
    page = windows.open(f"/s/{scenario.project({'type': 'ranking', 'options': options}, TEXT).slug}")
    check_accessibility(page)
    page.get_by_role("button", name="Move item 0 down").focus()

    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="Move item 1 down")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".rank .text").nth(2)).to_have_text("item 1")
    page.keyboard.press("Tab")

    expect(page.get_by_role("button", name="Continue")).to_be_focused()


def test_signing_in_for_xp_is_offered_before_the_first_answer_alone(windows):
    """Rule 6.219."""
    gift = {"type": "action_block", "action_kind": "give_xp", "prompt": "Here you are."}
    page = windows.open(f"/s/{scenario.project({**TEXT, 'required': True}, gift).slug}")
    link = page.get_by_role("link", name="Sign in to collect XP")

    go_on(page)
    expect(page.locator(".error")).to_be_visible()
    expect(link).to_be_visible()
    page.get_by_role("textbox").fill("one")
    go_on(page)

    question(page, "Here you are.")
    expect(link).to_have_count(0)


def test_keys_are_drawn_and_no_part_of_a_text(windows):
    """Rule 6.222."""
    page = windows.open(f"/s/{scenario.project(CHOICE).slug}")
    option = page.locator(".option").first

    assert option.evaluate("each => getComputedStyle(each, '::after').content") == '"1" / ""'
    assert option.evaluate("each => getComputedStyle(each, '::after').display") != "none"
    assert option.text_content().strip() == "red"
    expect(control(page, "red")).to_have_accessible_name("red")
    assert "Enter" not in page.locator("#step").text_content()


def test_with_forced_colours_the_chosen_point_is_filled(windows):
    """Rule 6.222."""
    page = windows.open(f"/s/{scenario.project({'type': 'nps'}).slug}", forced_colors="active")
    choose(page, "7")

    colours = page.locator(".cells .option").evaluate_all(
        "all => all.map((each) => getComputedStyle(each).backgroundColor)"
    )

    assert [colour != colours[0] for colour in colours] == [n == 7 for n in range(11)]
