"""A real Chromium, started once for each process of the test run; without one these tests are left out."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.support.browser.animations import END_MOTION

# Playwright keeps an event loop in the thread of the tests; Django would refuse its database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

expect.set_options(timeout=4_000)

NO_CHROMIUM = "no Chromium was found (set CHROMIUM to its path)"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}
# Refusals and lost connections that a test brings about.
ASKED_FOR = "Failed to load resource|Response Status Error|htmx:(afterRequest|sendError)"
TIMEOUT = 4_000  # milliseconds


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


class Windows:
    """Opens pages of the site under test, and remembers what their consoles complained about."""

    def __init__(self, browser: Browser, base_url: str) -> None:
        self._browser, self.address = browser, base_url
        self._contexts: list[BrowserContext] = []
        self.complaints: list[str] = []

    def open(self, path: str = "", *, phone: bool = False, **options: object) -> Page:
        if phone:
            options = {"viewport": PHONE, "has_touch": True, "is_mobile": True, **options}
        context = self._browser.new_context(**{"base_url": self.address, "viewport": DESK, **options})  # type: ignore[arg-type]
        context.set_default_timeout(TIMEOUT)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if path:
            page.goto(path)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _note(self, message: ConsoleMessage) -> None:
        is_expected = re.match(ASKED_FOR, message.text)
        if message.type in ("error", "warning") and not is_expected:
            self.complaints.append(message.text)


@pytest.fixture
def windows(chromium, live_server, settings, redis) -> Iterator[Windows]:
    """Any complaint of a browser, a breach of the Content-Security-Policy among them, fails the test."""
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    opened = Windows(chromium, live_server.url)
    yield opened
    opened.close()
    assert opened.complaints == []


@pytest.fixture(scope="session")
def check_accessibility():
    """Nothing that axe knows of WCAG 2.2 AA, or calls good practice, may be wrong with a page."""
    axe = Axe()

    def check(page: Page) -> None:
        page.evaluate(END_MOTION)
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()

    return check
