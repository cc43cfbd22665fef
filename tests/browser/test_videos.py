"""Videos in content blocks, in a real browser: nothing of them is loaded before somebody plays them."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, Request, Route, expect

from surveys.engine.script import Continue
from tests.support.browser import editor
from tests.support.browser.controls import go_on, question
from tests.support.browser.sizes import expect_to_fit
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.scenario import SAYING, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

VIDEO = {**SAYING, "prompt": "Our club.", "video_url": "https://www.youtube.com/watch?v=aqz-KE-bpKQ"}
PLAYER = "<title>Player</title><button>Pause</button><script>document.title = 'Playing'</script>"


def watched(context: BrowserContext) -> list[Request]:
    """The requests to other sites from now on, which get a player."""
    asked: list[Request] = []

    def answer(route: Route) -> None:
        asked.append(route.request)
        route.fulfill(content_type="text/html", body=PLAYER)

    context.route(lambda address: not address.startswith("http://localhost"), answer)
    return asked


def play(page: Page) -> Any:
    return page.get_by_role("button", name="Play the video")


@pytest.mark.parametrize("privacy_mode", ["anonymous", "transparent"])
def test_a_video_is_loaded_once_it_is_played(windows, check_every_look, privacy_mode):
    """Rules 6.440 to 6.442."""
    made = scenario.project(TEXT, VIDEO, TEXT, privacy_mode=privacy_mode)
    page = windows.open(f"/s/{made.slug}")
    asked = watched(page.context)
    page.locator("#field").fill("Yes")
    go_on(page)
    question(page, "Our club.")
    check_every_look(page)
    assert asked == []

    play(page).focus()
    page.keyboard.press("Enter")

    frame = page.locator("iframe")
    expect(frame).to_have_attribute("title", "Video on YouTube")
    expect(frame).to_be_focused()
    expect(frame.content_frame.get_by_role("button", name="Pause")).to_be_visible()
    [request] = asked
    assert urlsplit(request.url).netloc == "www.youtube-nocookie.com"
    assert request.headers["referer"] == f"{windows.address}/"
    page.set_viewport_size({"width": 320, "height": 640})
    expect_to_fit(page)
    go_on(page)
    question(page, "Prompt 2.")
    expect(page.locator("iframe")).to_have_count(0)


def test_a_timed_statement_waits_for_its_video(windows):
    """Rule 6.440."""
    made = scenario.project({**VIDEO, "continue_": Continue("pause", 300)}, TEXT)
    page = windows.open(f"/s/{made.slug}")
    watched(page.context)
    wait = page.get_by_role("button", name="Wait here")
    expect(wait).to_be_visible()

    play(page).click()

    expect(wait).to_be_hidden()
    expect(page.locator("iframe")).to_be_focused()


def test_without_javascript_the_link_leads_to_the_video(windows):
    """Rule 6.441."""
    page = windows.open(f"/s/{scenario.project(VIDEO).slug}", java_script_enabled=False)

    expect(play(page)).to_be_hidden()
    link = page.get_by_role("link", name="Watch it on YouTube")
    expect(link).to_have_attribute("href", "https://www.youtube.com/watch?v=aqz-KE-bpKQ")
    expect(link).to_have_attribute("target", "_blank")


def test_the_editor_takes_a_video_says_what_is_wrong_and_previews_it(windows):
    """Rules 3.198 and 6.440."""
    caller = Caller()
    said = {"type": "content_block", "name": "film", "prompt": "Our club."}
    project = editor.new_project(caller, said)
    page = editor.open_editor(windows, caller, project, viewport={"width": 1500, "height": 1000})
    page.get_by_label("Selected block").get_by_text("More", exact=True).click()
    field = page.get_by_label("Video", exact=True)
    fault = page.get_by_text("must be the https address of one video on YouTube or Vimeo.")

    field.fill("https://example.org/film.mp4")
    expect(fault.first).to_be_visible()
    field.fill(VIDEO["video_url"])
    editor.save(page)

    asked = watched(page.context)
    shown = editor.preview(page)
    shown.get_by_role("button", name="Play the video").click()
    expect(shown.frame_locator("iframe").get_by_role("button", name="Pause")).to_be_visible()
    assert len(asked) == 1
    assert editor.stored(caller, project)[0]["video_url"] == VIDEO["video_url"]
