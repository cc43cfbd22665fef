"""Cells of exported tables, their columns, and the first columns, which all tables share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from communities.ground import spreadsheets
from surveys.engine.language.values import is_date


class NumberText(str):
    """The text of a number, which a workbook stores as a number."""

    __slots__ = ()


Cell = str | date | None  # a datetime is a date too
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?").fullmatch


class Kind(StrEnum):
    """The kind of the cells of a column, for files with types."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    TIME = "time"
    DATE = "date"

    @property
    def is_number(self) -> bool:
        return self in (Kind.INTEGER, Kind.NUMBER)


@dataclass(frozen=True, slots=True)
class CellStyle:
    """How texts and times are written into cells. Numbers are `NumberText` in every style.

    With `has_types` each cell of a column is of the column's kind; with `has_dates` dates are no texts.
    """

    text: Callable[[str], str]
    time: Callable[[datetime], Cell]
    has_types: bool = False
    has_dates: bool = False


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table. `name`, `label` and `choices` describe it in statistics programs.

    `name` may repeat until it is made valid for the statistics program. `choices` are the labels of codes, or
    of the points of a scale, if the column is `measured`. `codes` is the index of the column with the codes
    of this column's cells. `marks` are the numbers for missing answers, with their meaning.
    """

    header: str
    kind: Kind = Kind.TEXT
    name: str = ""
    label: str = ""
    choices: Mapping[int, str] = field(default_factory=dict)
    codes: int | None = None
    measured: bool = False
    marks: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResponseTable:
    """Columns, and a function that converts a row of `responses.batches` to the rows of cells below them."""

    columns: Sequence[TableColumn]
    rows: Callable[[Sequence[Any]], Iterable[Sequence[Cell]]]

    @property
    def headers(self) -> list[str]:
        return [column.header for column in self.columns]


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The kind of a file, one of `service.MEDIA_TYPES`, and how the file is written.

    `with_bom` begins CSV with a byte order mark. `solutions` includes scores and calculated results, which
    reveal the correct answers. Tables have the codes of options beside their labels with `codes`, the
    options' own values instead of labels with `own_values`, a row for each answer if `is_long`, and names of
    blocks as headers if `by_name`. `marks_missing` distinguishes skipped questions from questions that were
    not shown, in tables with a row for each response. `screened_out` says that the file has those responses.
    `removed` are the questions that were removed from the script and have answers.
    """

    format: str = "csv"
    with_bom: bool = False
    solutions: bool = True
    codes: bool = False
    own_values: bool = False
    marks_missing: bool = False
    is_long: bool = False
    by_name: bool = False
    screened_out: bool = False
    removed: Set[int] = frozenset()


def shortened(text: str, size: int) -> str:
    """The text on one line, cut with an ellipsis if it has more than `size` bytes."""
    line = " ".join(text.split())
    if 4 * len(line) <= size or len(line.encode()) <= size:
        return line
    return f"{line.encode()[: size - len('…'.encode())].decode(errors='ignore').rstrip()}…"


def time_text(at: datetime) -> str:
    """A time in the format of `communities.ground.wire`."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _exact(text: str) -> str:
    return text


def _whole_second(at: datetime) -> datetime:
    return at.replace(microsecond=0)


SHEET = CellStyle(spreadsheets.neutralise, time_text)  # for programs that look for formulas in texts
WORKBOOK = CellStyle(_exact, _whole_second, has_dates=True)  # a workbook never reads text cells as formulas
TYPED = CellStyle(_exact, _whole_second, has_types=True, has_dates=True)
FIXED_COLUMNS = (
    TableColumn("id"),
    TableColumn("status"),
    TableColumn("session_number", Kind.INTEGER),
    TableColumn("started_at", Kind.TIME),
    TableColumn("submitted_at", Kind.TIME),
    TableColumn("user_id"),
    TableColumn("platform_id"),
    TableColumn("provider"),
)
FIXED = tuple(column.header for column in FIXED_COLUMNS)


def fixed_cells(row: Sequence[Any], is_anonymous: bool, style: CellStyle) -> list[Cell]:
    key, session_number, completed_at, user_id, platform_id, provider, started_at = row[:7]
    return [
        str(key),
        "partial" if completed_at is None else "completed",
        None if is_anonymous or session_number is None else NumberText(session_number),
        style.time(started_at),
        None if completed_at is None else style.time(completed_at),
        None if is_anonymous else user_id,
        None if is_anonymous or platform_id is None else style.text(platform_id),
        provider,
    ]


def number(text: str, style: CellStyle) -> Cell:
    """The cell of a text that should be a number."""
    return NumberText(text) if _NUMBER(text) else style.text(text)


def day(text: str, style: CellStyle) -> Cell:
    """The cell of a text that should be a date."""
    return date.fromisoformat(text) if style.has_dates and is_date(text) else style.text(text)
