"""Tables of cells as comma-separated text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from surveys.services.exports.columns import AT, EQUALS, PLUS, UNSEEN, Cell

# Semicolons and tabs too, for who divides cells by those beside commas.
_NEEDS_QUOTES = re.compile('[",;\t\r\n]|^\\s|\\s$').search
# Spreadsheets of some countries divide cells by semicolons, others by tabs, and not by commas. They see no
# quotes of ours, which stand in the middle of their cells then: what follows inside a text begins a cell.
_DIVIDES = re.compile("[;\t\r\n]").search
# As long as they are, each is looked at once. A minus may follow: texts begin the lines of lists by it.
_BEFORE_FORMULA = re.compile(f'(?<![;"{UNSEEN}])[;"{UNSEEN}]++(?=[{EQUALS}{PLUS}{AT}])')


def line(cells: Sequence[Cell]) -> bytes:
    """A line of RFC 4180."""
    return (",".join(["" if cell is None else _quoted(cell) for cell in cells]) + "\r\n").encode()


def neutral(cell: str) -> str:
    """A text inside which no spreadsheet finds a formula: behind an apostrophe where one could begin."""
    return _BEFORE_FORMULA.sub(_behind, cell) if _DIVIDES(cell) else cell


def _behind(before: re.Match[str]) -> str:
    return f"{before[0]}'" if _DIVIDES(before[0]) else before[0]


def _quoted(cell: str) -> str:
    if _NEEDS_QUOTES(cell) is None:
        return cell
    return '"' + neutral(cell).replace('"', '""') + '"'
