"""Rows of cells as an SPSS file.

The library needs the whole table as a frame and much memory. So a file has a limit, and this module is
imported only when such a file is written.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NoReturn

import pandas
import pyreadstat

from communities.ground.errors import refuse
from surveys.services.exports.cells import Cell, Kind, NumberText, TableColumn

MAX_VARIABLES = 5_000  # the library takes 10 s of CPU for 20,000, even with few rows
MAX_CELLS = 2_000_000
MAX_BYTES = 1_000_000_000  # of the file before it is compressed: each text takes as much space as the longest
MAX_HELD = 100_000_000  # bytes of all texts in memory, where one emoji makes a text four times as large
MAX_TEXT = 32_767  # bytes; also the next two
MAX_NAME, MAX_LABEL, MAX_VALUE_LABEL = 64, 255, 120
FIRST_DAY = date(1582, 10, 15)  # of the calendar in which SPSS counts
FOLDER = "colloquy-export-"
_RESERVED = frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"])
_NOT_IN_NAMES = re.compile("[^A-Za-z0-9_]+")
_DTYPES = {
    Kind.TEXT: "str",
    Kind.INTEGER: "float64",
    Kind.NUMBER: "float64",
    Kind.TIME: "datetime64[ms]",
    Kind.DATE: "datetime64[ms]",
}


@dataclass(frozen=True, slots=True)
class _Variable:
    """A column of the file, and its index among the cells of a row."""

    name: str
    column: TableColumn
    place: int


def spss_file(columns: Sequence[TableColumn], rows: Iterator[Sequence[Cell]]) -> IO[bytes]:
    """A compressed SPSS file in a temporary file, which is deleted when it is closed or the process ends.

    Columns of labels are left out if there are codes, which contain the labels. Refuses more than
    MAX_VARIABLES, MAX_CELLS, MAX_BYTES or MAX_HELD.
    """
    variables = _variables(columns)
    if len(variables) > MAX_VARIABLES:
        _refuse(f"the table has {len(variables):,} columns, and SPSS files at most {MAX_VARIABLES:,} here.")
    frame = _frame(variables, rows)
    with TemporaryDirectory(prefix=FOLDER) as folder:
        path = Path(folder) / "responses.sav"
        pyreadstat.write_sav(
            frame,
            path,
            column_labels=[_cut(each.column.label or each.column.header, MAX_LABEL) for each in variables],
            variable_value_labels={
                each.name: {code: _cut(text, MAX_VALUE_LABEL) for code, text in labels.items()}
                for each in variables
                if (labels := {**each.column.choices, **each.column.marks})
            },
            missing_ranges={each.name: list(each.column.marks) for each in variables if each.column.marks},
            variable_format={
                each.name: _format(each.column, frame[each.name])
                for each in variables
                if each.column.kind in (Kind.INTEGER, Kind.DATE)
            },
            variable_measure={each.name: _measure(each.column) for each in variables},
            row_compress=True,
        )
        return path.open("rb")


def _variables(columns: Sequence[TableColumn]) -> list[_Variable]:
    shown = [(place, column) for place, column in enumerate(columns) if column.codes is None]
    names = variable_names([column.name or column.header for _, column in shown])
    return [_Variable(name, column, place) for name, (place, column) in zip(names, shown, strict=True)]


def variable_names(wanted: Iterable[str]) -> list[str]:
    """Names that SPSS accepts: letters, digits and `_`, beginning with a letter, at most MAX_NAME bytes.

    All names differ in more than case, because SPSS does not distinguish case.
    """
    names: list[str] = []
    used = set(_RESERVED)
    # The last number for names with this beginning: 20,000 names may share one beginning
    last: dict[str, int] = {}
    for text in wanted:
        ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        plain = _NOT_IN_NAMES.sub("_", ascii_text).strip("_")
        plain = plain if plain[:1].isalpha() else f"v_{plain}".rstrip("_")
        name = plain[:MAX_NAME].rstrip("_")
        beginning = plain[: MAX_NAME - 8].rstrip("_")
        while name.upper() in used:
            n = last[beginning.upper()] = last.get(beginning.upper(), 1) + 1
            name = f"{beginning}_{n}"
        used.add(name.upper())
        names.append(name)
    return names


def _frame(variables: Sequence[_Variable], rows: Iterator[Sequence[Cell]]) -> Any:
    """The table as a frame. Refuses a table that is too large as early as possible."""
    series: list[list[Any]] = [[] for _ in variables]
    widths, held = [8 for _ in variables], 0
    for count, row in enumerate(rows, 1):
        for n, variable in enumerate(variables):
            value = _value(row[variable.place], variable.column.kind)
            series[n].append(value)
            if isinstance(value, str):
                held += sys.getsizeof(value)
                if 4 * len(value) > widths[n]:
                    widths[n] = max(widths[n], len(value.encode()))
        if count * len(variables) > MAX_CELLS or count * sum(widths) > MAX_BYTES or held > MAX_HELD:
            _refuse(
                f"the responses make a table of more than {MAX_CELLS:,} cells, "
                f"{MAX_BYTES // 1_000_000:,} MB, or {MAX_HELD // 1_000_000:,} MB of texts, which SPSS files "
                "are limited to here. Export fewer responses at a time with `submitted_after` and "
                "`submitted_before`."
            )
    data = {
        variable.name: pandas.Series(values, dtype=_DTYPES[variable.column.kind])
        for variable, values in zip(variables, series, strict=True)
    }
    return pandas.DataFrame(data)


def _refuse(reason: str) -> NoReturn:
    refuse("format", "too_many", f"`format` cannot be sav: {reason} Parquet and csv have no such limit.")


def _value(cell: Cell, kind: Kind) -> Any:
    if cell is None:
        return "" if kind == Kind.TEXT else None
    if kind == Kind.TEXT:
        return _cut(str(cell), MAX_TEXT)
    if kind == Kind.DATE:
        return datetime.combine(cell, time()) if isinstance(cell, date) and cell >= FIRST_DAY else None
    if kind == Kind.TIME:
        assert isinstance(cell, datetime)
        return cell.replace(tzinfo=None)  # UTC; SPSS has no time zones
    return float(cell) if isinstance(cell, NumberText) else None


def _cut(text: str, size: int) -> str:
    if 4 * len(text) <= size:
        return text
    return text.encode()[:size].decode(errors="ignore")


def _measure(column: TableColumn) -> str:
    """The level of measurement: nominal for choices. Scales are numeric, also if their points have labels."""
    if column.kind == Kind.TEXT or (column.choices and not column.measured):
        return "nominal"
    return "scale"


def _format(column: TableColumn, numbers: Any) -> str:
    """The format of dates, or of whole numbers: wide enough for the widest number and the labelled codes."""
    if column.kind == Kind.DATE:
        return "SDATE10"
    codes = [*column.choices, *column.marks, *numbers.dropna().unique()]
    return f"F{max((len(str(int(code))) for code in codes), default=1)}.0"
