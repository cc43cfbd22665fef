"""A frame of another site remembers its visitor through a reload of the page around it."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import host_site
from tests.support.browser.host_site import NO_STORAGE, frame_of, kept_visits
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

POLL: dict[str, Any] = {
    "type": "poll",
    "poll_results_mode": "public",
    "change_poll": True,
    "max_completes_per_user": 1,
}


@pytest.fixture(params=["partitioned cookie", "storage of the site around"])
def memory(request, settings):
    """https and cookies (a browser takes localhost for secure), or http."""
    settings.SESSION_COOKIE_SECURE = request.param == "partitioned cookie"
    return request.param


def survey(**fields):
    return scenario.project(
        {**TEXT, "prompt": "What?"}, {**TEXT, "prompt": "And why?"}, {**TEXT, "prompt": "Else?"}, **fields
    )


def answer(frame, text):
    frame.get_by_role("textbox").fill(text)
    frame.get_by_role("button", name="Continue").click()


def test_a_reload_keeps_the_place_in_a_survey(windows, other_site, memory):
    privacy = "anonymous" if memory == "partitioned cookie" else "semi-private"  # rule 7.821
    made = survey(privacy_mode=privacy)
    other_site.show(made)
    page = windows.open(other_site.address)
    frame = page.frame_locator("iframe")
    answer(frame, "one")
    expect(frame.locator("#question")).to_contain_text("And why?")

    page.reload()

    expect(frame.locator(".note")).to_have_text("Welcome back, you were here.")
    expect(frame.locator("#question")).to_contain_text("And why?")
    answer(frame, "two")
    answer(frame, "three")
    expect(frame.locator("#question")).to_contain_text("Thank you.")
    page.reload()
    kept = "You have answered this already." if privacy == "anonymous" else "Thank you."
    expect(frame.locator("#question")).to_contain_text(kept)
    assert scenario.counts(made) == {"answered": 3, "completed": 1, "listed": 1}
    assert "colloquy-visit" not in frame_of(page).evaluate("location.href")
    cookies = [(each["name"], each.get("partitionKey", "")) for each in page.context.cookies()]
    if memory == "partitioned cookie":
        assert [name for name, _ in cookies] == ["colloquy_frame"]
        assert kept_visits(page) == []
    else:
        assert cookies == []
        assert kept_visits(page) == [f"colloquy:{other_site.site}/s/{made.slug}"]


def test_a_frame_that_is_loaded_anew_finds_its_place_before_a_question_is_drawn(windows, other_site):
    made = survey()
    other_site.show(made)
    page = windows.open(other_site.address)
    frame = page.frame_locator("iframe")
    expect(frame.locator("#question")).to_contain_text("What?")
    # The frame hands nothing to a window that is not around it.
    frame_of(page).evaluate("postMessage({type: 'colloquy:host', token: 'forged'}, '*')")
    answer(frame, "one")
    expect(frame.locator("#question")).to_contain_text("And why?")
    looks = []
    page.on("request", lambda request: looks.append(request.url) if "/s/" in request.url else None)

    page.reload()
    expect(frame.locator("#question")).to_contain_text("And why?")
    assert len(looks) == 1
    assert "colloquy-visit=" in looks[0]

    # By itself.
    answer(frame, "two")
    expect(frame.locator("#question")).to_contain_text("Else?")
    frame_of(page).evaluate("location.reload()")
    expect(frame.locator(".note")).to_have_text("Welcome back, you were here.")
    assert made.conversations.count() == 1


def test_a_poll_takes_one_vote_from_a_browser_and_lets_it_be_changed(windows, other_site, memory):
    made = scenario.project(CHOICE, **POLL)
    other_site.show(made)
    page = windows.open(other_site.address)
    frame = page.frame_locator("iframe")
    frame.get_by_role("radio", name="red").check()
    frame.get_by_role("button", name="Vote").click()
    expect(frame.locator(".bars .own")).to_contain_text("red")

    page.reload()

    expect(frame.locator(".note")).to_have_text("You have voted in this poll.")
    expect(frame.locator(".bars .own")).to_contain_text("red")
    frame.get_by_role("button", name="Change my vote").click()
    expect(frame.get_by_role("radio", name="red")).to_be_checked()
    frame.get_by_role("radio", name="green").check()
    frame.locator(".button.main").click()
    expect(frame.locator(".bars .own")).to_contain_text("green")
    page.reload()
    expect(frame.locator(".bars .own")).to_contain_text("green")
    assert scenario.counts(made)["completed"] == 1

    frame.get_by_role("button", name="Take my vote back").click()
    frame.get_by_role("button", name="Yes, take it back").click()
    expect(frame.locator("#question")).to_contain_text("Prompt 0.")
    page.reload()
    expect(frame.locator("#question")).to_contain_text("Prompt 0.")
    assert scenario.counts(made)["completed"] == 0


def test_two_windows_of_one_browser_have_one_vote(windows, other_site, memory):
    privacy = "anonymous" if memory == "partitioned cookie" else "semi-private"
    made = scenario.project(CHOICE, **{**POLL, "change_poll": False}, privacy_mode=privacy)
    other_site.show(made)
    one = windows.open(other_site.address)
    expect(one.frame_locator("iframe").locator("#question")).to_contain_text("Prompt 0.")
    other = one.context.new_page()
    other.goto(other_site.address)

    for page in (one, other):
        frame = page.frame_locator("iframe")
        frame.get_by_role("radio", name="red").check()
        frame.get_by_role("button", name="Vote").click()
        expect(frame.locator(".card.end")).to_be_visible()

    assert scenario.counts(made)["completed"] == 1


def test_two_sites_do_not_share_a_visitor(windows, other_site, tmp_path, memory):
    made = survey()
    other_site.show(made)
    page = windows.open(other_site.address)
    answer(page.frame_locator("iframe"), "one")
    expect(page.frame_locator("iframe").locator("#question")).to_contain_text("And why?")

    with host_site.served(tmp_path, site=other_site.site, host="127.0.0.2") as third_site:
        page.goto(third_site.address)
        expect(page.frame_locator("iframe").locator("#question")).to_contain_text("What?")
        expect(page.frame_locator("iframe").locator(".note")).to_have_count(0)


def test_with_all_storage_blocked_the_form_carries_the_visit(windows, other_site):
    made = survey()
    other_site.show(made)
    page = windows.open()
    page.add_init_script(NO_STORAGE)
    page.goto(other_site.address)
    frame = page.frame_locator("iframe")

    for text in ("one", "two", "three"):
        answer(frame, text)
    expect(frame.locator("#question")).to_contain_text("Thank you.")

    assert scenario.counts(made) == {"answered": 3, "completed": 1, "listed": 1}
    page.reload()
    expect(frame.locator("#question")).to_contain_text("What?")


def test_a_frame_without_our_script_remembers_by_its_cookie(windows, other_site, settings):
    settings.SESSION_COOKIE_SECURE = True
    made = survey()
    other_site.write(f'<iframe src="{other_site.site}/s/{made.slug}?embed=1" title="Survey"></iframe>')
    page = windows.open(other_site.address)
    frame = page.frame_locator("iframe")
    answer(frame, "one")
    expect(frame.locator("#question")).to_contain_text("And why?")

    page.reload()

    expect(frame.locator("#question")).to_contain_text("And why?")


def test_what_has_expired_or_is_spoilt_is_replaced_and_what_belongs_to_others_stays(windows, other_site):
    made = survey()
    other_site.show(made)
    page = windows.open(other_site.address)
    [name] = kept_visits_after_arrival(page)
    page.evaluate(
        "name => { localStorage[name] = localStorage[name].replace('token\":\"', 'token\":\"x') }", name
    )
    spoilt = page.evaluate("name => localStorage[name]", name)
    page.reload()
    expect(page.frame_locator("iframe").locator("#question")).to_contain_text("What?")
    page.wait_for_function("([name, old]) => localStorage[name] !== old", arg=[name, spoilt])

    day = 24 * 3600
    kept = json.loads(page.evaluate("name => localStorage[name]", name))
    assert 364 * day < kept["until"] - page.evaluate("Date.now() / 1000") <= 366 * day
    page.evaluate(
        """([name, kept]) => {
          const past = JSON.stringify({ ...kept, until: Date.now() / 1000 - 1 });
          Object.assign(localStorage, { [name]: past, [`${name}-2`]: past, [`${name}-3`]: "{" });
          localStorage["their own"] = "{";
        }""",
        [name, kept],
    )
    page.reload()
    expect(page.frame_locator("iframe").locator("#question")).to_contain_text("What?")
    page.wait_for_function(
        "([name, old]) => localStorage[name] && localStorage[name] !== old", arg=[name, ""]
    )
    assert sorted(kept_visits(page)) == sorted([name, "their own"])
    assert json.loads(page.evaluate("name => localStorage[name]", name))["token"] != kept["token"]


def kept_visits_after_arrival(page):
    page.wait_for_function("Object.keys(localStorage).length")
    return kept_visits(page)


def test_tokens_from_elsewhere_are_not_kept(windows, other_site):
    made = survey()
    other_site.show(made)
    page = windows.open(other_site.address)
    [name] = kept_visits_after_arrival(page)
    before = page.evaluate("name => localStorage[name]", name)

    page.evaluate("postMessage({type: 'colloquy:visit', token: 'forged', until: 9e9}, '*')")
    frame_of(page).evaluate(
        """() => {
          for (const message of [
            null, 1, {}, { type: "colloquy:visit" }, { type: "colloquy:visit", token: 5, until: 9e9 },
            { type: "colloquy:visit", token: "t", until: "soon" },
            { type: "colloquy:visit", token: "t".repeat(1001), until: 9e9 },
            { type: "colloquy:constructor" }, { type: "colloquy:height", height: "tall" },
          ]) parent.postMessage(message, "*");
          parent.postMessage({ type: "colloquy:height", height: 777 }, "*");
        }"""
    )
    page.wait_for_function("document.querySelector('iframe').style.blockSize === '777px'")

    assert page.evaluate("name => localStorage[name]", name) == before
