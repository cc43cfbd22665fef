"""A survey inside another site's page: another port, another host name, so no cookies are shared."""

import pytest
from playwright.sync_api import expect

from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_survey_is_answered_in_a_frame_that_fits_it(windows, other_site, check_accessibility):
    made = scenario.project({**CHOICE, "prompt": "Which?"}, {**TEXT, "prompt": "Why?"})
    other_site.show(made)
    page = windows.open(other_site.address)
    frame = page.frame_locator("iframe")

    expect(frame.locator("#question")).to_contain_text("Which?")
    page.wait_for_function("document.querySelector('iframe').style.blockSize !== '480px'")
    inner = page.frames[1].evaluate("document.documentElement.scrollHeight")
    assert abs(page.locator("iframe").bounding_box()["height"] - inner) <= 2
    check_accessibility(page)
    frame.get_by_role("radio", name="red").check()
    frame.get_by_role("button", name="Continue").click()
    expect(frame.locator("#question")).to_contain_text("Why?")
    frame.get_by_label("Why?").fill("Because.")
    frame.get_by_role("button", name="Continue").click()
    expect(frame.locator("#question")).to_contain_text("Thank you.")

    assert page.context.cookies() == []
    assert scenario.counts(made) == {"answered": 2, "completed": 1, "listed": 1}


def test_a_survey_is_answered_in_a_frame_without_a_script(windows, other_site):
    made = scenario.project({**CHOICE, "prompt": "Which?"}, {**TEXT, "prompt": "Why?"})
    other_site.write(f'<iframe src="{other_site.site}/s/{made.slug}?embed=1" title="Survey">')
    page = windows.open(other_site.address, java_script_enabled=False)
    frame = page.frame_locator("iframe")

    frame.get_by_role("radio", name="red").check()
    frame.get_by_role("button", name="Continue").click()
    frame.get_by_label("Why?").fill("Because.")
    frame.get_by_role("button", name="Continue").click()

    expect(frame.locator("#question")).to_contain_text("Thank you.")
    assert scenario.counts(made)["completed"] == 1


def test_messages_from_elsewhere_do_not_size_the_frame(windows, other_site):
    made = scenario.project(CHOICE)
    other_site.show(made)
    page = windows.open(other_site.address)
    page.wait_for_function("document.querySelector('iframe').style.blockSize !== '480px'")
    before = page.locator("iframe").bounding_box()["height"]

    page.evaluate("postMessage({type: 'colloquy:height', height: 5000}, '*')")
    page.evaluate("new Promise(done => { addEventListener('message', done, {once: true}); postMessage(1) })")

    assert page.locator("iframe").bounding_box()["height"] == before


def test_the_page_itself_cannot_be_framed(windows, other_site):
    made = scenario.project({**CHOICE, "prompt": "Which?"})
    other_site.write(f'<iframe src="{other_site.site}/s/{made.slug}" title="Survey">')

    page = windows.open(other_site.address)

    expect(page.frame_locator("iframe").locator("#question")).to_have_count(0)
    refused = [text for text in windows.complaints if "frame-ancestors" in text]
    assert refused
    windows.complaints.clear()
