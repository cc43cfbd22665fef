import re

import pytest
from playwright.sync_api import expect

from surveys.engine.script import Continue
from surveys.models import Answer
from tests.support.browser.controls import choose, control, go_on, question
from tests.support.browser.editor import wait_until_still
from tests.support.browser.surveys import everything
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

KEPT = "Object.keys({ ...localStorage, ...sessionStorage }).filter((name) => name.startsWith('colloquy:/'))"
ALL_ANSWERS = [
    ("plays", "yes"),
    ("places", "Club"),
    ("places", "Park"),
    ("pace", "Rapid"),
    ("mood", "good"),
    ("month", "March"),
    ("evenings", "4"),
    ("sure", "6"),
    ("agree", "3"),
    ("recommend", "10"),
    ("games", "12"),
    ("order", "1"),
    ("order", "2"),
    ("wish", "More\nendgames."),
]


def stored(made):
    rows = Answer.objects.filter(conversation__project=made).order_by("block__position", "ordinal")
    return list(rows.values_list("block__name", "value"))


def ranked(made):
    rows = Answer.objects.filter(conversation__project=made, block__name="order").order_by("ordinal")
    return list(rows.values_list("option__value", flat=True))


def test_a_whole_survey_without_a_full_reload(windows, check_accessibility):
    made = everything()
    page = windows.open(f"/s/{made.slug}")
    page.evaluate("window.isTheSamePage = true")

    def step(text, *moves):
        question(page, text)
        check_accessibility(page)
        for move in moves:
            move()
        go_on(page)

    step("Hello!")
    step("Do you play chess?", lambda: choose(page, "Yes"))
    step("Where do you play?", lambda: choose(page, "Club"), lambda: choose(page, "Park"))
    step("How fast?", lambda: choose(page, "Rapid"))
    step("How did the last game feel?", lambda: choose(page, "good"))
    step("When did you join?", lambda: page.get_by_label("When did you join?").select_option("March"))
    step("How are the club evenings?", lambda: choose(page, "4 of 5 stars"))
    step("How sure are your openings?", lambda: choose(page, "6"))
    step("The rules are clear.", lambda: choose(page, "Agree"))
    step("Would you recommend us?", lambda: choose(page, "10"))
    step("How many games?", lambda: page.get_by_label("How many games?").fill("12"))
    step(
        "Put these in order.",
        lambda: page.get_by_role("button", name="Choose Openings").click(),
        lambda: page.locator(".rank", has_text="Endgames").click(),
    )
    step("Well done, Yes!")
    step("Any wish?", lambda: page.get_by_label("Any wish?").fill("More\nendgames."))
    question(page, "Thank you.")
    check_accessibility(page)

    assert page.evaluate("window.isTheSamePage")
    assert stored(made) == ALL_ANSWERS
    assert ranked(made) == ["Openings", "Endgames"]
    assert page.locator("#history > li").count() == 14
    assert page.locator("#history").get_by_text("More", exact=False).count() == 1


def test_a_whole_survey_without_a_script(windows):
    made = everything()
    page = windows.open(f"/s/{made.slug}", java_script_enabled=False)

    go_on(page)
    choose(page, "Yes")
    go_on(page)
    choose(page, "Club")
    choose(page, "Park")
    go_on(page)
    choose(page, "Rapid")
    go_on(page)
    choose(page, "good")
    go_on(page)
    page.locator("#field").select_option("March")
    go_on(page)
    choose(page, "4 of 5 stars")
    go_on(page)
    choose(page, "6")
    go_on(page)
    choose(page, "Agree")
    go_on(page)
    choose(page, "10")
    go_on(page)
    page.locator("#field").fill("12")
    go_on(page)
    page.get_by_label("Openings").select_option("1")
    page.get_by_label("Endgames").select_option("2")
    go_on(page)
    go_on(page)
    page.locator("#field").fill("More\nendgames.")
    go_on(page)
    question(page, "Thank you.")

    assert stored(made) == ALL_ANSWERS
    assert ranked(made) == ["Openings", "Endgames"]


def test_a_whole_survey_by_keyboard_alone(windows):
    made = everything()
    page = windows.open(f"/s/{made.slug}")
    press = page.keyboard.press

    question(page, "Hello!")
    press("Enter")
    question(page, "Do you play chess?")
    press("1")
    press("Enter")
    question(page, "Where do you play?")
    press("1")
    press("3")
    press("Enter")
    question(page, "How fast?")
    press("2")
    press("Enter")
    question(page, "How did the last game feel?")
    press("1")
    press("Enter")
    question(page, "When did you join?")
    press("Tab")
    press("m")
    press("Tab")
    press("Enter")
    question(page, "How are the club evenings?")
    press("4")
    press("Enter")
    question(page, "How sure are your openings?")
    press("6")
    press("Enter")
    question(page, "The rules are clear.")
    press("3")
    press("Enter")
    question(page, "Would you recommend us?")
    press("1")
    press("0")
    press("Enter")
    question(page, "How many games?")
    page.keyboard.type("12")
    press("Enter")
    question(page, "Put these in order.")
    page.get_by_role("button", name="Choose Endgames").focus()
    press("Space")
    expect(page.locator("#announcer")).to_have_text("Endgames is now number 1 of 2")
    expect(page.get_by_role("button", name="Choose Openings")).to_be_focused()
    press("Space")
    expect(page.get_by_role("button", name="Choose Tactics")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("button", name="Move Openings up").focus()
    press("Space")
    expect(page.locator("#announcer")).to_have_text("Openings is now number 1 of 2")
    expect(page.get_by_role("button", name="Move Openings up")).to_be_focused()
    page.locator("#question").focus()
    press("Enter")
    question(page, "Well done")
    press("Enter")
    question(page, "Any wish?")
    page.keyboard.type("More")
    press("Shift+Enter")
    page.keyboard.type("endgames.")
    press("Enter")
    question(page, "Thank you.")

    assert stored(made) == ALL_ANSWERS
    assert ranked(made) == ["Openings", "Endgames"]


@pytest.mark.parametrize("has_script", [True, False])
def test_an_answer_shows_what_it_asks_for_and_back_changes_it(windows, has_script):
    made = everything()
    page = windows.open(f"/s/{made.slug}", java_script_enabled=has_script)
    go_on(page)
    question(page, "Do you play chess?")
    choose(page, "No")
    go_on(page)
    question(page, "What keeps you from it?")
    page.get_by_role("button", name="Skip").click()
    question(page, "Where do you play?")
    expect(page.locator("#history")).to_contain_text("Skipped")

    page.get_by_role("button", name="Back").click()
    question(page, "What keeps you from it?")
    page.get_by_role("button", name="Back").click()
    question(page, "Do you play chess?")
    expect(control(page, "No")).to_be_checked()
    expect(page.locator("#history > li")).to_have_count(1)
    choose(page, "Yes")
    go_on(page)

    question(page, "Where do you play?")
    assert stored(made) == [("plays", "yes")]


@pytest.mark.parametrize("words", ["A short answer.", "A long answer. " * 60])
def test_on_a_phone_the_last_exchange_is_whole_or_away_and_the_question_in_the_upper_half(windows, words):
    address = f"/s/{scenario.project(TEXT, TEXT, TEXT).slug}"
    page = windows.open(address, phone=True, reduced_motion="no-preference")

    for number in (1, 2):
        page.locator("#field").fill(words)
        go_on(page)
        question(page, f"Prompt {number}.")
    wait_until_still(page.locator("#question"))

    header = page.locator("header.top").bounding_box()
    last = page.locator("#history > li").last.bounding_box()
    bottom = header["y"] + header["height"]
    is_short = len(words) < 100
    assert (last["y"] >= bottom) if is_short else (last["y"] + last["height"] < bottom + 1)
    assert page.locator("#question").bounding_box()["y"] < page.viewport_size["height"] / 2


@pytest.fixture
def in_haste(windows, settings):
    """Open a survey whose first answer is always too early, and return the page with a typed answer."""

    def opened(**more):
        settings.LEAST_SECONDS_TO_FIRST_ANSWER = 60
        page = windows.open(f"/s/{scenario.project(TEXT, TEXT).slug}", **more)
        page.locator("#field").fill("quick")
        return page

    return opened


def test_a_browser_proves_itself_and_the_survey_goes_on_by_itself(in_haste):
    """Rule 6.35."""
    page = in_haste()

    go_on(page)

    question(page, "Prompt 1.")
    assert list(Answer.objects.values_list("value", flat=True)) == ["quick"]


@pytest.mark.parametrize("more", [{"java_script_enabled": False}, {}])
def test_where_no_script_can_prove_it_a_small_question_does(in_haste, check_accessibility, more):
    """Rule 6.35. Browsers hash on https and on this machine alone."""
    page = in_haste(**more)
    has_script = not more
    if has_script:
        page.evaluate("Object.defineProperty(crypto, 'subtle', { value: undefined })")

    go_on(page)
    asked = page.locator("label[for=sum]").inner_text()
    if has_script:
        check_accessibility(page)
    expect(page.locator("#field")).to_have_value("quick")
    numbers = ["two", "three", "four", "five", "six", "seven", "eight", "nine"]
    [(first, second)] = re.findall(r"How much is (\w+) plus (\w+)", asked)
    page.locator("#sum").fill(str(numbers.index(first) + numbers.index(second) + 4))
    go_on(page)

    question(page, "Prompt 1.")


NOT_A_NUMBER = "This is not a number. Please write it with digits, for example 12.50."


@pytest.mark.parametrize(("has_script", "phone"), [(True, True), (False, False)])
def test_an_error_is_told_once_at_the_field_and_in_the_title(windows, check_accessibility, has_script, phone):
    """Rule 6.211."""
    made = scenario.project(
        {"type": "open_numeric", "prompt": "How many?", "min": 1, "max": 9}, TEXT, name="Games"
    )
    page = windows.open(f"/s/{made.slug}", phone=phone, java_script_enabled=has_script)
    field = page.get_by_label("How many?")
    expect(page).to_have_title("1 of 2 · Games")

    field.fill("twelve")
    go_on(page)

    expect(field).to_be_focused()
    expect(field).to_have_value("twelve")
    expect(field).to_have_accessible_description(f"A number from 1 to 9. Error: {NOT_A_NUMBER}")
    expect(page.get_by_text(NOT_A_NUMBER)).to_have_count(1)
    expect(page.locator("#step [role=alert], #step [aria-live]")).to_have_count(0)
    expect(page).to_have_title("Error: 1 of 2 · Games")
    if has_script:
        expect(page.locator("#announcer")).to_be_empty()
        check_accessibility(page)
    field.fill("9")
    go_on(page)
    expect(page).to_have_title("2 of 2 · Games")


def test_choices_are_missed_and_made_by_letters_at_the_question_alone(windows, check_accessibility):
    """Rule 6.211."""
    made = scenario.project({**CHOICE, "required": True}, {**CHOICE, "prompt": "Second."})
    page = windows.open(f"/s/{made.slug}")
    page.locator(".skip-link").focus()
    page.keyboard.press("1")
    expect(control(page, "red")).not_to_be_checked()

    go_on(page)
    expect(control(page, "red")).to_be_focused()
    expect(control(page, "red")).to_have_accessible_description("Error: This question needs an answer.")
    check_accessibility(page)
    choose(page, "red")
    go_on(page)

    # Arriving takes the focus and tells how far one is.
    question(page, "Second.")
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("2 of 2")
    expect(page.locator("#count")).to_have_text("Question 2 of 2")


def test_a_timed_statement_goes_on_by_itself(windows):
    made = scenario.project({**SAYING, "continue_": Continue("pause", 1)}, TEXT)
    page = windows.open(f"/s/{made.slug}", reduced_motion="no-preference")

    expect(page.locator(".typing")).to_have_class(re.compile(r"\bon\b"))
    question(page, "Prompt 1.")


def test_a_timed_statement_waits_when_asked_to_without_a_typing_hint_where_motion_is_reduced(windows):
    made = scenario.project({**SAYING, "continue_": Continue("pause", 2)}, TEXT)
    page = windows.open(reduced_motion="reduce")
    page.clock.install()
    page.goto(f"/s/{made.slug}")

    page.clock.run_for(1_500)
    expect(page.locator(".typing")).to_be_hidden()
    page.get_by_role("button", name="Wait here").click()
    page.clock.run_for(5_000)

    question(page, "Prompt 0.")


def test_what_is_typed_outlives_a_reload_and_a_step_back_and_goes_once_it_is_sent(windows):
    made = scenario.project(
        {**TEXT, "prompt": "What?"}, {**TEXT, "prompt": "And why?"}, {**TEXT, "prompt": "Anything else?"}
    )
    page = windows.open(f"/s/{made.slug}")
    page.get_by_role("textbox").press_sequentially("Half a tho")
    page.reload()
    expect(page.get_by_role("textbox")).to_have_value("Half a tho")
    page.get_by_role("textbox").press("End")
    page.get_by_role("textbox").press_sequentially("ught")
    go_on(page)
    question(page, "And why?")
    expect(page.get_by_role("textbox")).to_have_value("")
    page.get_by_role("textbox").press_sequentially("Because")
    page.get_by_role("button", name="Back").click()
    question(page, "What?")
    expect(page.get_by_role("textbox")).to_have_value("Half a thought")
    go_on(page)
    question(page, "And why?")
    expect(page.get_by_role("textbox")).to_have_value("Because")
    go_on(page)
    question(page, "Anything else?")
    assert page.evaluate(KEPT) == []

    page.get_by_role("textbox").press_sequentially("No")
    go_on(page)
    expect(page.get_by_text("Thank you")).to_be_visible()

    assert page.evaluate(KEPT) == []
    assert [value for _, value in stored(made)] == ["Half a thought", "Because", "No"]


@pytest.mark.parametrize("required", [True, False])
def test_the_order_in_which_items_arrive_is_no_answer(windows, check_accessibility, required):
    ranking = {"type": "ranking", "options": ["a", "b", "c"], "required": required}
    page = windows.open(f"/s/{scenario.project(ranking, ranking).slug}")

    expect(page.locator(".position")).to_have_text(["–"] * 3)
    go_on(page)
    expect(page.locator("#field-error")).to_be_focused()
    expect(page.locator("#field-error")).to_contain_text("Put the items in order")
    expect(page.get_by_text("This order is not your answer yet.")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("button", name="Keep this order").click()
    expect(page.locator(".position")).to_have_text(["1", "2", "3"])
    expect(page.get_by_role("button", name="Keep this order")).to_be_hidden()
    expect(page.get_by_text("This order is not your answer yet.")).to_be_hidden()
    page.keyboard.press("Enter")

    # Dragging is one.
    question(page, "Prompt 1.")
    last, first = page.locator(".rank").nth(2).bounding_box(), page.locator(".rank").nth(0).bounding_box()
    page.mouse.move(last["x"] + 80, last["y"] + 20)
    page.mouse.down()
    page.mouse.move(first["x"] + 80, first["y"] + 30, steps=6)
    page.mouse.move(first["x"] + 80, first["y"] + 2, steps=3)
    page.mouse.up()
    go_on(page)
    question(page, "Thank you.")

    rows = Answer.objects.order_by("block__position", "ordinal").values_list("option__value", flat=True)
    assert list(rows) == ["a", "b", "c", "c", "a", "b"]


@pytest.mark.parametrize("top", [None, 2])
def test_the_items_of_a_ranking_are_readable_on_a_phone(windows, top):
    options = ["Neighbourhood schools", "Public transportation", "Road maintenance"]
    made = scenario.project({"type": "ranking", "options": options, "rank_top_n": top})
    page = windows.open(f"/s/{made.slug}", viewport={"width": 320, "height": 700})
    if top:
        page.locator("[data-act=choose]:visible").first.click()
        page.locator("[data-act=choose]:visible").first.click()
    else:
        page.get_by_role("button", name="Keep this order").click()

    for item in page.locator(".rank .text").all():
        box = item.bounding_box()
        assert box["width"] >= 115  # the longest word, in one line
        assert box["height"] <= 60
    buttons = page.locator(".rank:first-child .move:visible").all()
    assert len({button.bounding_box()["y"] for button in buttons}) == 1


def test_the_best_of_a_ranking_are_chosen_taken_out_and_dragged(windows, check_accessibility):
    options = ["a", "b", "c", "d"]
    made = scenario.project({"type": "ranking", "options": options, "rank_top_n": 2, "required": True})
    page = windows.open(f"/s/{made.slug}", phone=True)

    page.get_by_role("button", name="Choose c").click()
    page.get_by_role("button", name="Choose b").click()
    check_accessibility(page)
    page.get_by_role("button", name="Take c out").click()
    expect(page.locator("#announcer")).to_have_text("c is not ranked")
    expect(page.locator(".rank > .text")).to_have_text(["b", "c", "a", "d"])
    go_on(page)
    expect(page.locator("#field-error")).to_contain_text("Choose 2 items")
    last, first = page.locator(".position").nth(3).bounding_box(), page.locator(".rank").nth(0).bounding_box()
    page.mouse.move(last["x"] + 8, last["y"] + 8)
    page.mouse.down()
    page.mouse.move(first["x"] + 80, first["y"] + 30, steps=6)
    page.mouse.move(first["x"] + 80, first["y"] + 2, steps=3)
    page.mouse.up()
    expect(page.locator(".position")).to_have_text(["1", "2", "–", "–"])
    go_on(page)
    question(page, "Thank you.")

    rows = Answer.objects.order_by("ordinal").values_list("option__value", flat=True)
    assert list(rows) == ["d", "b"]


def test_a_long_text_counts_near_its_limit(windows):
    made = scenario.project({**TEXT, "prompt": "Your view?"})
    page = windows.open(f"/s/{made.slug}")
    area, left = page.get_by_label("Your view?"), page.locator(".characters-left")
    height = area.bounding_box()["height"]

    area.fill("line\n" * 12)
    assert area.bounding_box()["height"] > height
    expect(left).to_be_hidden()
    area.fill("x" * 9_990)

    expect(left).to_have_text("10 characters left")
