"""Rows of cells as comma-separated text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from surveys.services.exports.columns import AT, EQUALS, PLUS, UNSEEN, Cell

# Semicolons and tabs too, because some programs accept them as separators beside commas.
_NEEDS_QUOTES = re.compile('[",;\t\r\n]|^\\s|\\s$').search
# Spreadsheets in some countries separate cells by semicolons or tabs, not by commas. They ignore our quotes,
# which are then in the middle of a cell, so a semicolon or tab inside a text starts a new cell.
_SEPARATOR = re.compile("[;\t\r\n]").search
# Possessive, so each character is looked at once. A minus may follow: lists begin their lines with it.
_BEFORE_FORMULA = re.compile(f'(?<![;"{UNSEEN}])[;"{UNSEEN}]++(?=[{EQUALS}{PLUS}{AT}])')


def line(cells: Sequence[Cell]) -> bytes:
    """A line of RFC 4180."""
    return (",".join(["" if cell is None else _quoted(cell) for cell in cells]) + "\r\n").encode()


def neutralise(cell: str) -> str:
    """The text, with an apostrophe wherever a spreadsheet could find the beginning of a formula inside it."""
    return _BEFORE_FORMULA.sub(_with_apostrophe, cell) if _SEPARATOR(cell) else cell


def _with_apostrophe(before: re.Match[str]) -> str:
    return f"{before[0]}'" if _SEPARATOR(before[0]) else before[0]


def _quoted(cell: str) -> str:
    if _NEEDS_QUOTES(cell) is None:
        return cell
    return '"' + neutralise(cell).replace('"', '""') + '"'
