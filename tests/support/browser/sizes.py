"""The sizes of windows in which pages are tried, in CSS pixels."""

from __future__ import annotations

from playwright.sync_api import ViewportSize

DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 780}
# Of a page: whether it can be read without moving it sideways.
FITS = "document.documentElement.scrollWidth <= innerWidth"
