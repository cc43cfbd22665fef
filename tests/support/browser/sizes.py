"""The sizes of windows in which pages are tried, in CSS pixels."""

from __future__ import annotations

from playwright.sync_api import Page, ViewportSize

DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 780}
# A page that is being replaced by the next has no root for a moment.
_FITS = "() => document.documentElement?.scrollWidth <= innerWidth"


def expect_to_fit(page: Page) -> None:
    """The page can be read without moving it sideways, now or as soon as it is laid out.

    Raises TimeoutError if it stays too wide.
    """
    page.wait_for_function(_FITS)


def expect_to_fit_everywhere(page: Page) -> None:
    """The page fits on a phone and on a desk, and has the size of a desk in the end."""
    for size in (PHONE, DESK):
        page.set_viewport_size(size)
        expect_to_fit(page)
