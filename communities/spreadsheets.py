"""Cells of text for spreadsheets, which must not read what people wrote as formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Spreadsheets read a cell that begins with one of these as a formula. Some skip invisible characters before
# it, and some accept the wide forms of Asian scripts. These go inside the brackets of regular expressions.
EQUALS, PLUS, MINUS, AT = "=\uff1d\ufe66", "+\uff0b\ufe62", "\\-\uff0d\ufe63", "@\uff20\ufe6b"
UNSEEN = (
    "\\s\\x00-\\x1f\\x7f-\\x9f\\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_FORMULA = re.compile(f"[{UNSEEN}]*[{EQUALS}{PLUS}{MINUS}{AT}]|[\\t\\r\\n]")
# Semicolons and tabs too, because some programs accept them as separators beside commas.
_NEEDS_QUOTES = re.compile('[",;\t\r\n]|^\\s|\\s$').search
# Spreadsheets in some countries separate cells by semicolons or tabs, not by commas. They ignore our quotes,
# which are then in the middle of a cell, so a semicolon or tab inside a text starts a new cell.
_SEPARATOR = re.compile("[;\t\r\n]").search
# Possessive, so each character is looked at once. A minus may follow: lists begin their lines with it.
_BEFORE_FORMULA = re.compile(f'(?<![;"{UNSEEN}])[;"{UNSEEN}]++(?=[{EQUALS}{PLUS}{AT}])')


def csv_line(cells: Sequence[str | None]) -> bytes:
    """A line of RFC 4180."""
    return (",".join(["" if cell is None else _quoted(cell) for cell in cells]) + "\r\n").encode()


def neutralise(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet could read it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def neutralise_inside(cell: str) -> str:
    """The text, with an apostrophe wherever a spreadsheet could find the beginning of a formula inside it."""
    return _BEFORE_FORMULA.sub(_with_apostrophe, cell) if _SEPARATOR(cell) else cell


def _with_apostrophe(before: re.Match[str]) -> str:
    return f"{before[0]}'" if _SEPARATOR(before[0]) else before[0]


def _quoted(cell: str) -> str:
    if _NEEDS_QUOTES(cell) is None:
        return cell
    return '"' + neutralise_inside(cell).replace('"', '""') + '"'
