"""Rows of cells in lines of CSV of others, read within limits."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice

from surveys.services.converting.questionnaire import unreadable

MAX_CELL = 131_072  # characters


def lines(text: str, *, most_rows: int, most_columns: int) -> Iterator[tuple[int, list[str]]]:
    """The first rows of a CSV that are not empty, each with its number. The separator is guessed from line 1.

    A caller who asks for one row or column more than it takes can say what it leaves out.
    """
    first = text[:MAX_CELL].partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        rows = enumerate(csv.reader(io.StringIO(text), delimiter=separator), start=1)
        filled = ((n, row) for n, row in rows if any(cell.strip() for cell in row))
        for n, row in islice(filled, most_rows):
            yield n, row[:most_columns]
    except csv.Error:
        unreadable("must be a CSV with cells of at most 131,072 characters.")


def decoded(data: bytes) -> str:
    """The text in UTF-8, or as older programs for spreadsheets write it."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").replace("\x00", "")
    try:
        return data.decode("utf-8-sig").replace("\x00", "")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace").replace("\x00", "")
