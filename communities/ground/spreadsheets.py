"""Text cells for spreadsheets, which must not read texts of people as formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Spreadsheets read a cell that begins with one of these characters as a formula. Some skip invisible
# characters before them, and some accept the wide forms of Asian scripts. These strings are used inside the
# brackets of regular expressions.
EQUALS, PLUS, MINUS, AT = "=\uff1d\ufe66", "+\uff0b\ufe62", "\\-\uff0d\ufe63", "@\uff20\ufe6b"
UNSEEN = (
    "\\s\\x00-\\x1f\\x7f-\\x9f\\xad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
_FORMULA = re.compile(f"[{UNSEEN}]*[{EQUALS}{PLUS}{MINUS}{AT}]|[\\t\\r\\n]")
# Semicolons and tabs need quotes, too, because some programs accept them as separators like commas.
_NEEDS_QUOTES = re.compile('[",;\t\r\n]|^\\s|\\s$').search


def csv_line(cells: Sequence[str | None]) -> bytes:
    """A line of RFC 4180."""
    return (",".join(["" if cell is None else _quoted(cell) for cell in cells]) + "\r\n").encode()


def neutralise(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet could read it as a formula.

    The rest of the cell is not changed (rule 6.65).
    """
    return f"'{text}" if _FORMULA.match(text) else text


def _quoted(cell: str) -> str:
    if _NEEDS_QUOTES(cell) is None:
        return cell
    return '"' + cell.replace('"', '""') + '"'
