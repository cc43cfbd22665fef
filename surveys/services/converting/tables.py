"""Rows of cells in lines of CSV of others, read within limits."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice

from surveys.services.converting.questionnaire import unreadable

MAX_CELL = 131_072  # characters
_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE = 20  # rows that show the separator
_NAMED = re.compile(r"sep=([,;\t|])\r?\n")  # as spreadsheets name it
_LETTERS, _FOREIGN = re.compile(r"[^\W\d_]"), re.compile(r"[^\W\d_a-zA-Z]")
# Characters that are seldom within a word of Windows-1252: letters of MacRoman and of other scripts.
_OF_OTHERS = re.compile("[A-Za-z][\x81\x8d\x8f\x90\x9d‚ƒ„†‡ˆ‰Š‹ŒŽ˜›Ÿ\ufffd][a-z]")


def lines(text: str, *, most_rows: int, most_columns: int) -> Iterator[tuple[int, list[str]]]:
    """The first rows of a CSV that are not empty, each with its number. Refuses an open quotation mark.

    A caller who asks for one row or column more than it takes can say what it leaves out.
    """
    named = _NAMED.match(text)
    separator = named[1] if named else max(_SEPARATORS, key=lambda each: _fitness(text, each))
    reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    try:
        rows = enumerate(reader, start=1)
        filled = ((n, row) for n, row in rows if any(cell.strip() for cell in row))
        for n, row in islice(filled, bool(named), most_rows + bool(named)):
            yield n, row[:most_columns]
    except csv.Error as error:
        if "field larger" in str(error):
            unreadable("must be a CSV with cells of at most 131,072 characters.")
        unreadable(
            f"has a quotation mark in or before line {reader.line_num:,} that does not end with its cell: "
            "write it twice within a cell that is quoted."
        )


def _fitness(text: str, separator: str) -> tuple[float, int]:
    """How well a separator divides the first lines: the part of rows as long as the first, and its length."""
    sample = csv.reader(io.StringIO(text[:MAX_CELL]), delimiter=separator)
    try:
        lengths = [len(row) for row in islice(sample, _SAMPLE) if any(row)]
    except csv.Error:
        return 0, 0
    is_one = not lengths or lengths[0] == 1
    return (0, 0) if is_one else (lengths.count(lengths[0]) / len(lengths), lengths[0])


def decoded(data: bytes) -> str:
    """The text in UTF-8, or as older programs for spreadsheets write it. Refuses one that is neither."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace").replace("\x00", "")
    try:
        return data.decode("utf-8-sig").replace("\x00", "")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        text = data.decode("cp1252", "replace").replace("\x00", "")
    foreign, broken = len(_FOREIGN.findall(text)), data.decode("utf-8", "ignore")
    is_utf = 2 * sum(not each.isascii() for each in broken) > sum(byte > 127 for byte in data) / 2
    if is_utf or _OF_OTHERS.search(text) or 2 * foreign > len(_LETTERS.findall(text)):
        unreadable(f"is not UTF-8 in line {line:,}. Save it as UTF-8.")
    return text


def is_utf(data: bytes) -> bool:
    """Whether bytes are text in UTF-8 or UTF-16."""
    try:
        data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def first_foreign(text: str) -> str:
    """The first word with a letter beyond those of English; empty for none."""
    return next((word[:40] for word in text.split() if not word.isascii()), "")
