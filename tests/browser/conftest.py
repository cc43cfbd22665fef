"""A real Chromium, started once for each process of the test run; without one these tests are left out."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from django.apps import apps
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.signals import request_finished, request_started
from django.http import HttpRequest
from django.utils.cache import patch_cache_control
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.support.browser import host_site
from tests.support.browser.animations import END_MOTION
from tests.support.browser.host_site import HostSite
from tests.support.browser.sizes import DESK, PHONE, expect_to_fit

# Playwright keeps an event loop in the thread of the tests; Django would refuse its database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


NO_CHROMIUM = "no Chromium was found (set CHROMIUM to its path)"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",  # for each context
]
# Refusals and lost connections that a test brings about.
ASKED_FOR = "Failed to load resource|Response Status Error|htmx:(afterRequest|sendError)"
LIGHT_PAGE = "/static/surveys/survey.css"
TIMEOUT = int(os.environ.get("BROWSER_TIMEOUT", "10000"))  # milliseconds, as a busy machine may need

expect.set_options(timeout=TIMEOUT)


def chromium_path() -> str | None:
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    is_missing = chromium_path() is None
    for item in items:
        if "/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)
            if is_missing:
                item.add_marker(pytest.mark.skip(reason=NO_CHROMIUM))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=SWITCHES)
        yield browser
        browser.close()


class Contexts:
    """Browser contexts that tests use one after the other, each in between as empty as a new one.

    A new context takes as long as a page, and its cache lacks the site's scripts and styles. A page that
    stays open keeps the context's process, and with it all scripts that were compiled, axe among them.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[BrowserContext]] = defaultdict(list)

    def open(self, options: dict[str, Any]) -> Page:
        """An empty page in a context with these options of Playwright's `new_context`."""
        free = self._free[json.dumps(options, sort_keys=True)]
        is_new = not free
        context = self._browser.new_context(**options) if is_new else free.pop()
        context.set_default_timeout(TIMEOUT)
        if not is_new and not context.pages:
            context.new_page().goto(options["base_url"] + LIGHT_PAGE)
        page = context.new_page()
        if not is_new:
            session = context.new_cdp_session(page)
            origin = {"origin": options["base_url"], "storageTypes": "local_storage,indexeddb,cache_storage"}
            session.send("Storage.clearDataForOrigin", origin)
            session.detach()
        return page

    def give_back(self, options: dict[str, Any], context: BrowserContext) -> None:
        """Empty a context for the next test: cookies, permissions, routes. Its storage needs a page."""
        for page in context.pages:
            if not page.url.endswith(LIGHT_PAGE):
                page.close()
        context.clear_cookies()
        context.clear_permissions()
        context.unroute_all()
        context.set_offline(False)
        self._free[json.dumps(options, sort_keys=True)].append(context)


class Windows:
    """Opens pages of the site under test, and remembers what their consoles complained about."""

    def __init__(self, contexts: Contexts, base_url: str) -> None:
        self._contexts, self.address = contexts, base_url
        self._taken: list[tuple[dict[str, Any], BrowserContext]] = []
        self.complaints: list[str] = []

    def open(self, path: str = "", *, phone: bool = False, **options: object) -> Page:
        """A page in a context of its own: with cookies, storage and the size of nobody else.

        Nothing moves without `reduced_motion="no-preference"`: drawing each frame takes as long as the page.
        """
        if phone:
            options = {"viewport": PHONE, "has_touch": True, "is_mobile": True, **options}
        options = {"base_url": self.address, "viewport": DESK, "reduced_motion": "reduce", **options}
        page = self._contexts.open(options)
        self._taken.append((options, page.context))
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if path:
            page.goto(path)
        return page

    def close(self) -> None:
        for options, context in self._taken:
            self._contexts.give_back(options, context)

    def _note(self, message: ConsoleMessage) -> None:
        is_expected = re.match(ASKED_FOR, message.text)
        if message.type in ("error", "warning") and not is_expected:
            self.complaints.append(message.text)


@pytest.fixture(autouse=True)
def choices_wait_for_the_button(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that chooses and then clicks must not depend on its speed. Tests of moving on set it."""
    field = apps.get_model("surveys", "Project")._meta.get_field("advance_on_choice")
    monkeypatch.setattr(field, "_get_default", lambda: False)


@pytest.fixture(scope="session")
def contexts(chromium: Browser) -> Iterator[Contexts]:
    """Static files stay in the caches of contexts, as with the names that an installation gives them.

    The editor alone has forty, and browsers would ask for each again with every page.
    """
    with pytest.MonkeyPatch.context() as patched:
        serve = StaticFilesHandler.serve

        def serve_for_long(handler: StaticFilesHandler, request: HttpRequest) -> Any:
            response: Any = serve(handler, request)
            patch_cache_control(response, max_age=3600, immutable=True)
            return response

        patched.setattr(StaticFilesHandler, "serve", serve_for_long)
        yield Contexts(chromium)


@pytest.fixture(scope="session")
def busy_threads() -> set[int]:
    """The threads that answer a request at this moment."""
    busy: set[int] = set()

    def begin(**_more: object) -> None:
        busy.add(threading.get_ident())

    def end(**_more: object) -> None:
        busy.discard(threading.get_ident())

    request_started.connect(begin, weak=False)
    request_finished.connect(end, weak=False)
    return busy


@pytest.fixture
def windows(contexts, live_server, settings, redis, busy_threads) -> Iterator[Windows]:
    """Any complaint of a browser, a breach of the Content-Security-Policy among them, fails the test."""
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    opened = Windows(contexts, live_server.url)
    yield opened
    opened.close()
    # What a page asked for last would meet an emptied database, and Django would tell the next test of it.
    deadline, own = time.monotonic() + 5, threading.get_ident()
    while busy_threads - {own} and time.monotonic() < deadline:
        time.sleep(0.01)
    assert opened.complaints == []


@pytest.fixture
def other_site(tmp_path, live_server) -> Iterator[HostSite]:
    """A site of others, whose page shows a survey in a frame."""
    with host_site.served(tmp_path, site=live_server.url) as served:
        yield served


@pytest.fixture(scope="session")
def check_accessibility() -> Callable[[Page], None]:
    """Nothing that axe knows of WCAG 2.2 AA, or calls good practice, may be wrong with a page."""
    return lambda page: _check(page, {})


@pytest.fixture(scope="session")
def check_contrast() -> Callable[[Page], None]:
    """Check that all texts of a page have enough contrast to their background."""
    return lambda page: _check(page, {"runOnly": ["color-contrast"]})


@pytest.fixture(scope="session")
def check_every_look(check_accessibility: Callable[[Page], None]) -> Callable[[Page], None]:
    """A page must be accessible and fit into the window: on a desk in the light, on a phone in the dark.

    Style sheets choose colours by the light and places by the width, none by both.
    """

    def check(page: Page) -> None:
        check_accessibility(page)
        expect_to_fit(page)
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)
        check_accessibility(page)
        expect_to_fit(page)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESK)

    return check


# Describing what is right with a page takes longer than to find what is wrong.
_RUN_AXE = "options => axe.run(options).then(({ violations }) => ({ violations }))"


def _check(page: Page, options: dict[str, Any]) -> None:
    page.wait_for_load_state()  # after a click on a link the document may still be empty
    expect(page.locator("form[aria-busy=true]")).to_have_count(0)  # a form that is being sent is paler
    page.evaluate(END_MOTION)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    # A frame's page is checked by itself.
    found = AxeResults(page.evaluate(_RUN_AXE, {"iframes": False, "resultTypes": ["violations"], **options}))
    assert found.violations_count == 0, found.generate_report()
