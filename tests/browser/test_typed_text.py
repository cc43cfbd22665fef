"""A typed answer is never lost, and never shown at another question or to another person."""

import pytest
from django.conf import settings
from playwright.sync_api import expect

from surveys.models import Answer
from tests.support.browser.controls import choose, control, go_on, intercept, question
from tests.support.browser.host_site import NO_STORAGE
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

KEPT = "Object.keys({ ...localStorage, ...sessionStorage }).filter((name) => name.startsWith('colloquy:/'))"
FIRST, SECOND = {**TEXT, "prompt": "What?"}, {**TEXT, "prompt": "And why?"}
MULTI = {"type": "multi_punch", "options": ["Club", "Park", "Home"], "prompt": "Where?"}
MENU = {**CHOICE, "prompt": "Which?", "answer_style": "select_menu"}
STARS = {"type": "rating", "prompt": "How many?"}
NUMBER = {"type": "open_numeric", "prompt": "How much?"}
ORDER = {"type": "ranking", "options": ["one", "two", "three"], "prompt": "In which order?"}


def stored(made):
    rows = Answer.objects.filter(conversation__project=made).order_by("block__position", "ordinal")
    return list(rows.values_list("value", flat=True))


def ranked_first():
    return Answer.objects.values_list("option__value", flat=True).get(block__type="ranking", ordinal=0)


def hold(page):
    """Hold all answers back. Returns the list of held requests, which the test can release."""
    held = []
    intercept(page, lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    return held


def wait_until_sending(page):
    page.wait_for_function("() => document.documentElement.classList.contains('sending')")


class TestThroughAReload:
    def test_every_kind_of_answer(self, windows):
        made = scenario.project(MULTI, MENU, STARS, NUMBER, ORDER)
        page = windows.open(f"/s/{made.slug}")
        choose(page, "Club")
        control(page, "Club").uncheck(force=True)
        assert page.evaluate(KEPT) == []
        choose(page, "Club")
        choose(page, "Home")
        page.reload()
        expect(control(page, "Club")).to_be_checked()
        expect(control(page, "Park")).not_to_be_checked()
        expect(control(page, "Home")).to_be_checked()
        go_on(page)

        question(page, "Which?")
        page.get_by_role("combobox").select_option("green")
        page.reload()
        expect(page.get_by_role("combobox").locator(":checked")).to_have_text("green")
        go_on(page)

        question(page, "How many?")
        page.keyboard.press("4")
        page.reload()
        expect(page.locator("input:checked")).to_have_value("4")
        go_on(page)

        question(page, "How much?")
        page.get_by_role("textbox").press_sequentially("12,50")
        page.reload()
        expect(page.get_by_role("textbox")).to_have_value("12,50")
        go_on(page)

        question(page, "In which order?")
        assert page.evaluate(KEPT) == []  # an untouched ranking stays untouched
        names = page.locator(".rank .text").all_text_contents()
        page.get_by_role("button", name=f"Move {names[1]} up").click()
        page.reload()
        expect(page.locator(".rank .text")).to_have_text([names[1], names[0], names[2]])
        go_on(page)
        question(page, "Thank you.")
        assert ranked_first() == names[1]

    def test_a_text_in_a_frame(self, windows, other_site):
        made = scenario.project(FIRST, SECOND)
        other_site.show(made)
        page = windows.open(other_site.address)
        frame = page.frame_locator("iframe")
        field = frame.get_by_role("textbox")
        field.press_sequentially("Half a tho")
        page.reload()
        expect(field).to_have_value("Half a tho")
        assert page.evaluate("Object.keys(sessionStorage)") == []

        frame.get_by_role("button", name="Continue").click()
        expect(frame.locator("#question")).to_contain_text("And why?")
        field.press_sequentially("Becau")
        page.reload()
        expect(frame.locator("#question")).to_contain_text("And why?")
        expect(field).to_have_value("Becau")


class TestThroughThePagesOfTheBrowser:
    def test_leaving_and_coming_back(self, windows):
        made = scenario.project(FIRST, SECOND)
        page = windows.open(f"/s/{made.slug}")
        page.get_by_role("textbox").press_sequentially("Half a tho")

        page.goto("/account/login/")
        page.go_back()
        expect(page.get_by_role("textbox")).to_have_value("Half a tho")
        page.go_forward()
        page.goto(f"/s/{made.slug}")

        expect(page.get_by_role("textbox")).to_have_value("Half a tho")

    def test_a_page_that_was_quicker_than_its_script(self, windows):
        made = scenario.project(FIRST, SECOND)
        page = windows.open()
        held = []
        page.route("**/survey-typed.js", lambda route: held.append(route))
        page.goto(f"/s/{made.slug}", wait_until="commit")
        page.get_by_role("textbox").press_sequentially("Early")
        held[0].continue_()
        page.wait_for_function(f"() => {KEPT}.length === 1")
        page.unroute("**/survey-typed.js")

        page.reload()

        expect(page.get_by_role("textbox")).to_have_value("Early")


class TestWhileSending:
    def test_a_text_cannot_be_changed_and_can_again_where_it_failed(self, windows):
        """Rule 6.212."""
        made = scenario.project(FIRST, SECOND)
        page = windows.open(f"/s/{made.slug}")
        page.get_by_role("textbox").press_sequentially("Sent")
        held = hold(page)
        page.keyboard.press("Enter")
        wait_until_sending(page)

        page.keyboard.type(" more")
        expect(page.get_by_role("textbox")).to_have_value("Sent")
        held[0].fulfill(status=502, body="Bad gateway")
        expect(page.locator("#send-error")).to_contain_text("Something went wrong on our side.")
        page.keyboard.type(" again")
        expect(page.get_by_role("textbox")).to_have_value("Sent again")

        # A page says so on the pressed button until it has ended.
        go_on(page)
        expect(page.get_by_role("status")).to_have_text("Sending…")
        expect(page.get_by_role("button", name="Continue")).to_have_class("button main busy")
        assert "Sending…" in page.locator(".button.busy").evaluate(
            "each => getComputedStyle(each, '::before').content"
        )
        expect(page.locator("#answer")).to_have_attribute("aria-busy", "true")
        held[1].fulfill(status=500, body="Oops")
        expect(page.locator("#send-error")).to_be_visible()
        expect(page.locator(".button.busy, [aria-busy]")).to_have_count(0)

        page.unroute("**/s/*")
        page.get_by_role("button", name="Try again").click()
        question(page, "And why?")
        assert stored(made) == ["Sent again"]

    def test_a_choice_cannot_be_changed_and_keeps_the_focus(self, windows):
        made = scenario.project(CHOICE, SECOND)
        page = windows.open(f"/s/{made.slug}")
        choose(page, "red")
        page.locator("input:checked").focus()
        held = hold(page)
        page.keyboard.press("Enter")
        wait_until_sending(page)

        page.keyboard.press("ArrowDown")
        page.get_by_text("green", exact=True).click(force=True)
        expect(control(page, "red")).to_be_checked()
        held[0].fulfill(status=503, body="Oops")
        expect(page.locator("#send-error")).to_be_visible()

        expect(control(page, "red")).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(control(page, "green")).to_be_checked()

    def test_a_reload_while_it_is_sent_and_after_it_failed_brings_the_text_back(self, windows):
        made = scenario.project(FIRST, SECOND)
        page = windows.open(f"/s/{made.slug}")
        page.get_by_role("textbox").press_sequentially("A long thought.")
        fault = ""

        def fail(route):
            if route.request.method == "GET":
                route.continue_()
            elif fault == "500":
                route.fulfill(status=500)
            elif fault == "cut":
                route.abort("connectionreset")

        intercept(page, fail)
        go_on(page)
        wait_until_sending(page)
        page.reload()
        expect(page.get_by_role("textbox")).to_have_value("A long thought.")

        for fault in ("500", "cut"):  # noqa: B007 - `fail` reads it
            go_on(page)
            expect(page.locator("#send-error")).to_be_visible()
            page.reload()
            question(page, "What?")
            expect(page.get_by_role("textbox")).to_have_value("A long thought.")

        # Leaving with an answer that waits is asked about.
        go_on(page)
        expect(page.locator("#send-error")).to_be_visible()
        with page.expect_event("dialog") as asked:
            page.close(run_before_unload=True)
        assert asked.value.type == "beforeunload"
        asked.value.accept()

    def test_offline_it_stays_until_it_has_gone_out(self, windows, check_accessibility):
        made = scenario.project(FIRST, SECOND)
        page = windows.open(f"/s/{made.slug}")
        page.get_by_role("textbox").press_sequentially("A long thought.")
        page.context.set_offline(True)
        go_on(page)
        expect(page.locator("#send-error")).to_contain_text("You seem to be offline.")
        expect(page.locator("#send-error")).to_contain_text("Keep this page open")
        expect(page.get_by_label("What?")).to_have_value("A long thought.")
        check_accessibility(page)

        page.context.set_offline(False)

        question(page, "And why?")
        expect(page.locator("#send-error")).to_be_hidden()
        assert stored(made) == ["A long thought."]
        assert page.evaluate(KEPT) == []

    def test_what_is_changed_while_offline_goes_out_when_it_is_sent_again(self, windows):
        made = scenario.project(FIRST, ORDER)
        page = windows.open(f"/s/{made.slug}")
        page.get_by_role("textbox").press_sequentially("A long thought")
        page.context.set_offline(True)
        go_on(page)
        expect(page.locator("#send-error")).to_be_visible()

        page.get_by_role("textbox").press_sequentially(", half")
        page.context.set_offline(False)
        page.evaluate("dispatchEvent(new Event('online'))")
        page.get_by_role("textbox").press_sequentially(" and whole!")

        expect(page.locator("#send-error")).to_contain_text("not sent yet")
        assert "half and whole!" in page.evaluate("JSON.stringify(localStorage)")
        assert stored(made) == []
        page.get_by_role("button", name="Try again").click()
        question(page, "In which order?")
        assert stored(made) == ["A long thought, half and whole!"]

        page.get_by_role("button", name="Keep this order").click()
        page.context.set_offline(True)
        go_on(page)
        expect(page.locator("#send-error")).to_be_visible()
        page.locator("[data-act=down]").first.click()
        page.context.set_offline(False)
        expect(page.locator("#send-error")).to_contain_text("not sent yet")
        assert stored(made) == ["A long thought, half and whole!"]


class TestInAnotherWindow:
    def test_the_text_is_shown_and_comes_back_at_its_question(self, windows):
        made = scenario.project(FIRST, SECOND)
        page = windows.open(f"/s/{made.slug}")
        page.get_by_role("textbox").fill("begun")
        go_on(page)
        question(page, "And why?")
        page.get_by_role("button", name="Back").click()
        question(page, "What?")
        other = page.context.new_page()
        other.goto(page.url)
        question(other, "What?")
        other.get_by_role("textbox").press_sequentially(" and more")
        page.get_by_role("textbox").fill("short")
        go_on(page)
        question(page, "And why?")

        go_on(other)

        expect(other.locator(".note")).to_contain_text("This page was out of date")
        expect(other.get_by_label("Your answer, which was not saved")).to_have_value("begun and more")
        other.get_by_role("button", name="Back").click()
        question(other, "What?")
        expect(other.get_by_role("textbox")).to_have_value("begun and more")

    def test_what_was_typed_at_the_first_question_too(self, windows, check_accessibility):
        made = scenario.project(FIRST, SECOND)
        page = windows.open(f"/s/{made.slug}")
        other = page.context.new_page()
        other.goto(page.url)
        other.get_by_role("textbox").press_sequentially("a long thought")
        page.get_by_role("textbox").fill("short")
        go_on(page)
        question(page, "And why?")

        other.reload()
        question(other, "And why?")
        expect(other.locator("#field")).to_have_value("")
        check_accessibility(other)

    def test_the_end_shows_it_and_keeps_nothing(self, windows, check_accessibility):
        made = scenario.project(FIRST)
        page = windows.open(f"/s/{made.slug}")
        other = page.context.new_page()
        other.goto(page.url)
        other.get_by_role("textbox").press_sequentially("a long thought")
        page.get_by_role("textbox").fill("short")
        go_on(page)
        question(page, "Thank you.")

        go_on(other)

        question(other, "Thank you.")
        expect(other.get_by_label("Your answer, which was not saved")).to_have_value("a long thought")
        check_accessibility(other)
        assert other.evaluate(KEPT) == []


class TestWhatNeverComesBack:
    def test_at_another_question_or_when_it_is_answered_again(self, windows):
        made = scenario.project({**FIRST, "required": False}, SECOND)
        page = windows.open(f"/s/{made.slug}")
        page.get_by_role("textbox").press_sequentially("one")
        go_on(page)
        question(page, "And why?")
        expect(page.get_by_role("textbox")).to_have_value("")
        page.reload()
        expect(page.get_by_role("textbox")).to_have_value("")
        assert page.evaluate(KEPT) == []

        page.get_by_role("textbox").fill("two")
        page.get_by_role("button", name="Back").click()
        question(page, "What?")
        page.get_by_role("textbox").fill("one, changed")
        go_on(page)
        question(page, "And why?")
        go_on(page)
        question(page, "Thank you.")
        assert page.evaluate(KEPT) == []
        page.get_by_role("button", name="Answer again").click()
        question(page, "What?")
        expect(page.get_by_role("textbox")).to_have_value("")

        # Beside a skip.
        page.get_by_role("textbox").press_sequentially("Never mind")
        page.get_by_role("button", name="Skip").click()
        question(page, "And why?")
        assert page.evaluate(KEPT) == []

    def test_to_another_person_in_the_same_tab(self, windows, client):
        made = scenario.project(FIRST, SECOND)
        page = windows.open()
        sign_in(page, windows, client, scenario.member("Ann").user)
        page.goto(f"/s/{made.slug}")
        page.get_by_role("textbox").press_sequentially("Ann’s secret")
        page.reload()
        expect(page.get_by_role("textbox")).to_have_value("Ann’s secret")

        sign_in(page, windows, client, scenario.member("Bob").user)
        page.reload()

        expect(page.get_by_role("textbox")).to_have_value("")
        assert page.evaluate(KEPT) == []
        page.context.clear_cookies()
        page.reload()
        expect(page.get_by_role("textbox")).to_have_value("")


def sign_in(page, windows, client, user):
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": windows.address}])


class TestWithStorageBlocked:
    def test_it_lives_as_long_as_the_page(self, windows, other_site):
        made = scenario.project(FIRST, SECOND)
        other_site.show(made)
        page = windows.open()
        page.add_init_script(NO_STORAGE)
        page.goto(other_site.address)
        frame = page.frame_locator("iframe")
        frame.get_by_role("textbox").fill("one")
        frame.get_by_role("button", name="Continue").click()
        expect(frame.locator("#question")).to_contain_text("And why?")
        frame.get_by_role("textbox").press_sequentially("Half a tho")
        frame.get_by_role("button", name="Back").click()
        expect(frame.locator("#question")).to_contain_text("What?")

        frame.get_by_role("button", name="Continue").click()

        expect(frame.locator("#question")).to_contain_text("And why?")
        expect(frame.get_by_role("textbox")).to_have_value("Half a tho")

    def test_a_full_storage_loses_nothing_of_this_page(self, windows):
        made = scenario.project(FIRST, SECOND)
        page = windows.open(f"/s/{made.slug}")
        page.get_by_role("textbox").fill("one")
        go_on(page)
        question(page, "And why?")
        page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full') } }")
        page.get_by_role("textbox").press_sequentially("Half a tho")
        page.get_by_role("button", name="Back").click()
        question(page, "What?")

        go_on(page)

        question(page, "And why?")
        expect(page.get_by_role("textbox")).to_have_value("Half a tho")
