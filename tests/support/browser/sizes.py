"""The sizes of windows in which pages are tried, in CSS pixels."""

from __future__ import annotations

DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}
# Of a page: whether it can be read without moving it sideways.
FITS = "document.documentElement.scrollWidth <= innerWidth"
