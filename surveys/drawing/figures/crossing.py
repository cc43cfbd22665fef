"""A cross table as staff see it, and the form that chooses its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from communities.ground.words import percent
from surveys.drawing.figures.filters import BandsField, ResultsForm
from surveys.engine.flow.wording import heading
from surveys.services.results.crossing import MORE, CrossTable

# The keys of shares in a cell, without `_percentage`, and of what they are the share, in words.
SHARES = {"row": "the row", "column": "the column", "all": "all in the table"}
_KEYS = {"row": "row_percentage", "column": "column_percentage", "all": "percentage"}


class CrossForm(ResultsForm):
    """Filters as for results, two divisions, and of what the shown percentages are."""

    dividing: Mapping[str, str] = {"rows": "row_bands", "columns": "column_bands"}
    bands = None  # type: ignore[assignment] # Django's way to leave a field out
    row_bands, column_bands = BandsField(), BandsField()
    share = forms.ChoiceField(choices=list(SHARES.items()), required=False)

    @property
    def rows(self) -> int | str | None:
        return self._divided("rows")

    @property
    def columns(self) -> int | str | None:
        return self._divided("columns")

    @property
    def shared(self) -> str:
        return self._cleaned("share") or "row"


@dataclass(frozen=True, slots=True)
class DrawnCell:
    """One cell. `mark` is an arrow if it differs beyond chance, and `said` the same in words."""

    count: int
    shares: Mapping[str, float]
    share: str
    mark: str
    said: str


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """One row, with the share of its responses in the table."""

    text: str
    count: int
    share: str
    cells: Sequence[DrawnCell]


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """A cross table. `heads` and `sums` are of the columns; `sentences` say what the test found."""

    rows: str
    columns: str
    of: str
    heads: Sequence[str]
    sums: Sequence[int]
    shares_of_sums: Sequence[str]
    count: int
    lines: Sequence[DrawnLine]
    sentences: Sequence[str]
    notes: Sequence[str]


def draw(table: CrossTable, form: CrossForm) -> DrawnTable:
    rows, columns = table.rows["segments"], table.columns["segments"]
    return DrawnTable(
        rows=_title(table.rows, form),
        columns=_title(table.columns, form),
        of=SHARES[form.shared],
        heads=[_text(each) for each in columns],
        sums=[each["count"] for each in columns],
        shares_of_sums=[percent(each["percentage"]) for each in columns],
        count=table.count,
        lines=[
            DrawnLine(
                _text(row),
                row["count"],
                percent(row["percentage"]),
                [_cell(each, form.shared) for each in cells],
            )
            for row, cells in zip(rows, table.cells, strict=True)
        ],
        sentences=[table.test["text"]] if table.test else [],
        notes=table.notes,
    )


def _title(by: Mapping[str, Any], form: CrossForm) -> str:
    return heading(by["title"], form.script) if by["prompt"] else str(by["title"])


def _text(segment: Mapping[str, Any]) -> str:
    return str(segment["label"] or segment["value"])


def _line(row: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], shared: str) -> DrawnLine:
    drawn = [_cell(each, shared) for each in cells]
    return DrawnLine(_text(row), row["count"], percent(row["percentage"]), drawn)


def _cell(cell: Mapping[str, Any], shared: str) -> DrawnCell:
    differs = cell["differs"]
    return DrawnCell(
        count=cell["count"],
        shares={name: cell[key] for name, key in _KEYS.items()},
        share=percent(cell[_KEYS[shared]]),
        mark="" if differs is None else "\N{UPWARDS ARROW}" if differs == MORE else "\N{DOWNWARDS ARROW}",
        said="" if differs is None else f"{differs} than in the other rows",
    )
