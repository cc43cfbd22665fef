"""Rows of cells in files of others: sheets of workbooks and lines of CSV, read within limits."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from zipfile import BadZipFile, ZipFile

from surveys.services.converting.questionnaire import unreadable

MAX_UNPACKED = 33_554_432  # bytes of a workbook
MAX_EMPTY_ROWS = 200  # in succession: some programs format a million rows
MAX_CELL = 131_072  # characters


def sheets(
    data: bytes,
    *,
    is_wanted: Callable[[str], bool] = lambda name: True,
    most_rows: int,
    most_columns: int,
    most_unpacked: int = MAX_UNPACKED,
) -> dict[str, list[tuple[int, Sequence[object]]]]:
    """The rows of the wanted sheets that are not empty, each with its number. Names are in lower case."""
    from openpyxl import load_workbook  # noqa: PLC0415 - takes much memory, and few processes need it

    try:
        with ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > most_unpacked:
                unreadable(f"unpacks to more than {most_unpacked // 1_048_576} MiB.")
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        found = {}
        for name in book.sheetnames:
            if is_wanted(name.strip().lower()):
                rows = book[name].iter_rows(max_row=most_rows, max_col=most_columns, values_only=True)
                found[name.strip().lower()] = list(_filled(rows))
        book.close()
    except (
        BadZipFile,
        KeyError,
        ValueError,
        TypeError,
        OSError,
        AttributeError,
        SyntaxError,
        EOFError,
        IndexError,
        NotImplementedError,
        RuntimeError,
    ):  # fmt: skip - a faulty workbook raises all of these
        unreadable("must be an XLSX workbook, as base64.")
    return found


def _filled(rows: Iterator[Sequence[object]]) -> Iterator[tuple[int, Sequence[object]]]:
    last = 0
    for n, cells in enumerate(rows, start=1):
        if any(cell.strip() if isinstance(cell, str) else cell is not None for cell in cells):
            last = n
            yield n, cells
        elif n - last > MAX_EMPTY_ROWS:
            return


def lines(text: str, *, most_rows: int, most_columns: int) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV that are not empty, each with its number. The separator is guessed from line 1."""
    first = text[:MAX_CELL].partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        for n, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator), start=1):
            if n > most_rows:
                return
            if any(cell.strip() for cell in row):
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
