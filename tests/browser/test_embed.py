"""A survey inside another site's page: another port, another host name, so no cookies are shared."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import expect

from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Test output has no room for it."""


@pytest.fixture
def other_site(tmp_path) -> Iterator[tuple[object, str]]:
    """A folder that is served at a host name which is another site to a browser."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def host_page(folder, live_server, made, more=""):
    script = f'<script src="{live_server.url}/static/surveys/embed.js" data-survey="{made.slug}"></script>'
    (folder / "index.html").write_text(
        f'<!doctype html><html lang="en"><title>Another site</title><link rel="icon" href="data:,">'
        f"<main><h1>Another site</h1>{script}{more}</main></html>"
    )


def test_a_survey_is_answered_in_a_frame_that_fits_it(windows, live_server, other_site, check_accessibility):
    folder, address = other_site
    made = scenario.project({**CHOICE, "prompt": "Which?"}, {**TEXT, "prompt": "Why?"})
    host_page(folder, live_server, made)
    page = windows.open(address)
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


def test_a_survey_is_answered_in_a_frame_without_a_script(windows, live_server, other_site):
    folder, address = other_site
    made = scenario.project({**CHOICE, "prompt": "Which?"}, {**TEXT, "prompt": "Why?"})
    frame_source = f"{live_server.url}/s/{made.slug}?embed=1"
    (folder / "index.html").write_text(f'<iframe src="{frame_source}" title="Survey">')
    page = windows.open(address, java_script_enabled=False)
    frame = page.frame_locator("iframe")

    frame.get_by_role("radio", name="red").check()
    frame.get_by_role("button", name="Continue").click()
    frame.get_by_label("Why?").fill("Because.")
    frame.get_by_role("button", name="Continue").click()

    expect(frame.locator("#question")).to_contain_text("Thank you.")
    assert scenario.counts(made)["completed"] == 1


def test_messages_from_elsewhere_do_not_size_the_frame(windows, live_server, other_site):
    folder, address = other_site
    made = scenario.project(CHOICE)
    host_page(folder, live_server, made)
    page = windows.open(address)
    page.wait_for_function("document.querySelector('iframe').style.blockSize !== '480px'")
    before = page.locator("iframe").bounding_box()["height"]

    page.evaluate("postMessage({type: 'colloquy:height', height: 5000}, '*')")
    page.evaluate("new Promise(done => { addEventListener('message', done, {once: true}); postMessage(1) })")

    assert page.locator("iframe").bounding_box()["height"] == before


def test_the_page_itself_cannot_be_framed(windows, live_server, other_site):
    folder, address = other_site
    made = scenario.project({**CHOICE, "prompt": "Which?"})
    (folder / "index.html").write_text(f'<iframe src="{live_server.url}/s/{made.slug}" title="Survey">')

    page = windows.open(address)

    expect(page.frame_locator("iframe").locator("#question")).to_have_count(0)
    refused = [text for text in windows.complaints if "frame-ancestors" in text]
    assert refused
    windows.complaints.clear()
