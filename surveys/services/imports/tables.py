"""A CSV or XLSX file with responses as a table of texts, and back as bytes to be stored."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import NoReturn
from zoneinfo import available_timezones

import orjson

from communities.ground import spreadsheets
from communities.ground.errors import InvalidRequest, refuse
from surveys.services.converting import tables
from surveys.services.converting.workbooks import SIGNS, Limits, Workbook
from surveys.services.exports.cells import NumberText

MAX_FILE = 8_388_608  # bytes
MAX_ROWS = 10_000
MAX_COLUMNS = 1_000
MAX_CELLS = 500_000
LIMITS = Limits(
    rows=MAX_ROWS + 4,
    columns=MAX_COLUMNS + 1,
    elements=3_000_000,
    unpacked=67_108_864,
    cells=MAX_CELLS,
)
_OWN_SHEET = "responses"
SELECTED = " - Selected Choice"  # what Qualtrics writes behind questions with a text of one's own
_LONG = {"id", "block_id", "block", "prompt", "item", "value"}  # of exports with one answer in a row


@dataclass(frozen=True, slots=True)
class Table:
    """The headers of a table, and its rows of texts, each with its number in the file.

    Numbers of a workbook are `NumberText`. A row with cells beyond the last header is longer. `notes` are
    sentences about parts that were not read, or were read with changes. `names` are further names of the
    columns, and `zone` the time zone of the file, where it says them.
    """

    headers: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]
    notes: Sequence[str] = ()
    names: Sequence[str] = ()
    zone: str = ""

    def column(self, index: int) -> list[str]:
        """The cells of a column that are not empty."""
        return [cells[index] for _, cells in self.rows if cells[index]]


def read(data: bytes) -> Table:
    """The table in a file. Refuses a file that is neither CSV nor XLSX, has no rows, or is too large."""
    if len(data) > MAX_FILE:
        _refuse("too_long", "The file is larger than 8 MiB. Divide it into several files.")
    notes = list[str]()
    try:
        rows = _workbook(data, notes) if data.startswith(SIGNS) else _csv(data, notes)
    except InvalidRequest as refusal:
        _refuse("invalid", refusal.message.replace("`content`", "The file").replace(", as base64", ""))
    rows, names, zone = _without_import_ids(rows, notes)
    if len(rows) < 2:
        _refuse("too_few", "The file needs a first row with the names of columns, and rows below it.")
    if len(rows) > MAX_ROWS + 1:
        _refuse("too_many", f"The file has more than {MAX_ROWS:,} rows. Divide it into several files.")
    if any(len(cells) > MAX_COLUMNS for _, cells in rows):
        _refuse(
            "too_many", f"The file has more than {MAX_COLUMNS:,} columns. Remove those that are not needed."
        )
    headers = rows[0][1]
    if {*headers} >= _LONG:
        _refuse("invalid", "The file has one answer in a row. Choose one with one response in a row.")
    width = max((n for n, text in enumerate(headers, start=1) if text), default=0)
    if not width:
        _refuse("invalid", "The first row must have the names of the columns.")
    if sum(max(width, len(cells)) for _, cells in rows) > MAX_CELLS:
        _refuse("too_many", f"The file has more than {MAX_CELLS:,} cells. Divide it into several files.")
    return Table(
        headers[:width], [(n, _filled(cells, width)) for n, cells in rows[1:]], notes, names[:width], zone
    )


_Rows = list[tuple[int, list[str]]]


def _without_import_ids(rows: _Rows, notes: list[str]) -> tuple[_Rows, list[str], str]:
    """The rows of a file with the three headers of Qualtrics, with one: the texts of questions and the names
    of other columns. Also the names of all columns, and the time zone. Other files stay as they are.
    """
    ids = [_import_id(cell) for cell in rows[2][1]] if len(rows) > 2 else []
    if not ids or not all(each or not cell for each, cell in zip(ids, rows[2][1], strict=True)):
        return rows, [], ""
    (_, names), (_, texts) = rows[:2]
    zones = [str(each["timeZone"]) for each in ids if "timeZone" in each]
    known = available_timezones()  # reads a folder
    zone = "UTC" if "Z" in zones else next((each for each in zones if each in known), "")
    headers = [*names]
    for n, (text, each) in enumerate(zip(texts, ids, strict=False)):
        if text and n < len(headers) and str(each.get("ImportId", "")).startswith("QID"):
            headers[n] = " ".join(text.replace(SELECTED, "").split())
    times = f", its times as those of {zone}" if zone else ""
    notes.append(f"The first three rows were read as headers of Qualtrics{times}.")
    return [(rows[0][0], headers), *rows[3:]], names, zone


def _import_id(cell: str) -> Mapping[str, object]:
    """The mark in the third header of Qualtrics, such as `{"ImportId":"QID1"}`; empty for another text."""
    if not cell.startswith('{"ImportId"'):
        return {}
    try:
        found = orjson.loads(cell)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _filled(cells: Sequence[str], width: int) -> Sequence[str]:
    """The cells of a row, with an empty one below each further header, and up to the last that is filled."""
    last = max((n for n, cell in enumerate(cells, start=1) if cell), default=0)
    return [*cells[: max(width, last)], *[""] * (width - len(cells))]


def packed(table: Table) -> bytes:
    """The table as bytes to store."""
    rows = [(n, [[c] if isinstance(c, NumberText) else c for c in cells]) for n, cells in table.rows]
    return zlib.compress(orjson.dumps([table.headers, rows, table.notes, table.names, table.zone]))


def unpacked(data: bytes) -> Table:
    """The table that `packed` made bytes of."""
    headers, rows, *more = orjson.loads(zlib.decompress(data))
    typed = [(n, [NumberText(*c) if type(c) is list else c for c in cells]) for n, cells in rows]
    return Table(headers, typed, *more)


def _refuse(code: str, message: str) -> NoReturn:
    refuse("file", code, message)


def _csv(data: bytes, notes: list[str]) -> list[tuple[int, list[str]]]:
    """The rows of a CSV, without the apostrophes that guard cells of our own files (rule 6.65)."""
    if b"\x00" in data[:1_000] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        _refuse("invalid", "The file must be CSV or XLSX.")
    text = tables.decoded(data)
    if not tables.is_utf(data) and (foreign := tables.first_foreign(text)):
        notes.append(f"The file is not UTF-8. It was read as Western European text, such as “{foreign}”.")
    found = tables.lines(text, most_rows=MAX_ROWS + 4, most_columns=MAX_COLUMNS + 1)
    return [(n, [_unguarded(cell.strip()) for cell in cells]) for n, cells in found]


def _unguarded(cell: str) -> str:
    is_guarded = cell.startswith("'") and spreadsheets.neutralise(cell[1:]) == cell
    return cell[1:] if is_guarded else cell


def _workbook(data: bytes, notes: list[str]) -> list[tuple[int, list[str]]]:
    """The rows of the sheet `Responses` of a workbook, else of its first sheet that is not empty."""
    book = Workbook(data, LIMITS)
    names = sorted(book.names, key=lambda name: name != _OWN_SHEET)
    name, rows = next(((name, rows) for name in names if (rows := book.rows(name))), ("", []))
    if name in book.ended and len(rows) <= MAX_ROWS + 1:
        _refuse("too_many", f"Too many empty rows are below row {book.ended[name]:,}. Delete them.")
    if name in book.unvalued:
        message = f"Row {book.unvalued[name]:,} has a formula without its result. Open the file in a program "
        _refuse("invalid", f"{message}for spreadsheets, save it, and choose it again.")
    if others := [each for each in names if each != name]:
        notes.append(
            f"The sheet “{name}” was read, and not: {', '.join(f'“{each}”' for each in others[:20])}."
        )
    if book.shows_percents:
        notes.append("Percentages were read as the numbers that the workbook stores: 50% is 0.5.")
    width = max(
        (n for _, cells in rows for n, cell in enumerate(cells, start=1) if cell is not None), default=0
    )
    return [(n, [_text(cell) for cell in cells[:width]]) for n, cells in rows]


def _text(cell: object) -> str:
    """A cell of a workbook as text, which says if it is a number; days and times as in ISO 8601."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, int):
        return NumberText(cell)
    if isinstance(cell, float):
        return NumberText(int(cell) if cell.is_integer() else format(Decimal(repr(cell)), "f"))
    if isinstance(cell, datetime):
        is_day = cell.time() == time()
        return cell.date().isoformat() if is_day else cell.isoformat(sep=" ", timespec="seconds")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell).strip()
