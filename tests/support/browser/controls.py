"""The question, the buttons and the options on a survey page in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator, Page, Route, expect

PROBE = "/static/surveys/survey.js?probe"


def question(page: Page, text: str) -> None:
    """The page shows a question with this text."""
    expect(page.locator("#question")).to_contain_text(text)


def go_on(page: Page) -> None:
    """Click the main button."""
    page.locator(".button.main").click()


def control(page: Page, name: str) -> Locator:
    """The radio button or checkbox of an option."""
    radio = page.get_by_role("radio", name=name, exact=True)
    return radio.or_(page.get_by_role("checkbox", name=name, exact=True))


def choose(page: Page, name: str) -> None:
    """Check an option."""
    control(page, name).check(force=True)


def intercept(page: Page, handler: Callable[[Route], object]) -> None:
    """Let a handler decide about the requests to survey pages from a page that is already open.

    Chromium replaces the loaders of an open page a moment later, so a request sent at once may bypass the
    handler. A probe shows when the loaders are replaced.
    """
    arrived: list[Route] = []

    def end_probe(route: Route) -> None:
        arrived.append(route)
        route.fulfill(status=204)

    page.route(re.compile("probe$"), end_probe)
    page.route("**/s/*", handler)
    while not arrived:
        page.evaluate(f"fetch('{PROBE}').then(() => null)")
