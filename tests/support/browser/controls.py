"""The question, the buttons and the options on a survey page in a browser."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect


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
