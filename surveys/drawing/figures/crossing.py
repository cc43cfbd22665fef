"""A cross table as staff see it, and the form that chooses its rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from django import forms

from communities.ground.words import percent, percents, plural
from surveys.drawing.figures.charts import MOST_WITH_EMPTY, base_of
from surveys.drawing.figures.filters import BandsField, ResultsForm
from surveys.drawing.figures.weighting import words_of
from surveys.engine.flow.wording import heading
from surveys.services.results.crossing import MORE, CrossTable

# The keys of shares in a cell, without `_percentage`, and of what they are the share, in words.
SHARES = {"row": "the row", "column": "the column", "all": "all in the table"}
MORE_MARK, LESS_MARK = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"
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

    count: float
    shares: Mapping[str, float]
    share: str
    mark: str
    said: str


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """One row, with the share of its responses in the table. `count` is a sum of weights in weighted tables.

    `responses` are those in the row.
    """

    text: str
    count: float
    responses: int
    share: str
    cells: Sequence[DrawnCell]


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """A cross table. `heads`, `sums` and `responses` are of the columns; `sentences` say what the test found.

    `weighting` are the words about weights; counts other than `responses` are sums of weights then.
    """

    rows: str
    columns: str
    shared: str
    heads: Sequence[str]
    sums: Sequence[float]
    shares_of_sums: Sequence[str]
    count: float
    responses: Sequence[int]
    all_responses: int
    lines: Sequence[DrawnLine]
    sentences: Sequence[str]
    notes: Sequence[str]
    weighting: Sequence[str]

    @property
    def of(self) -> str:
        """Of what the shown percentages are, in words."""
        return SHARES[self.shared]

    def without_empty(self) -> DrawnTable:
        """The table without rows and columns of long lists that have no response (rule 6.433)."""
        rows, columns = _places([line.responses for line in self.lines]), _places(self.responses)
        left_out = {"row": len(self.lines) - len(rows), "column": len(self.heads) - len(columns)}
        notes = [
            f"{plural(count, name)} without a response: in the CSV file alone."
            for name, count in left_out.items()
            if count
        ]
        lines = [replace(line, cells=[line.cells[n] for n in columns]) for line in self.lines]
        return replace(
            self,
            heads=[self.heads[n] for n in columns],
            sums=[self.sums[n] for n in columns],
            shares_of_sums=[self.shares_of_sums[n] for n in columns],
            responses=[self.responses[n] for n in columns],
            lines=[lines[n] for n in rows],
            notes=[*self.notes, *notes],
        )


def _places(counts: Sequence[int]) -> list[int]:
    """The places of a list that are shown: all, or in a long one those with a count."""
    return [n for n, count in enumerate(counts) if count or len(counts) <= MOST_WITH_EMPTY]


def draw(table: CrossTable, form: CrossForm, *, noun: str) -> DrawnTable:
    rows, columns = table.rows["segments"], table.columns["segments"]
    shares, of_rows = _shares(table, form.shared), _of_all(table.rows)
    return DrawnTable(
        rows=_title(table.rows, form),
        columns=_title(table.columns, form),
        shared=form.shared,
        heads=[_text(each) for each in columns],
        sums=[base_of(each) for each in columns],
        shares_of_sums=_of_all(table.columns),
        count=table.count if table.weighted_count is None else table.weighted_count,
        responses=[each["count"] for each in columns],
        all_responses=table.count,
        lines=[
            DrawnLine(
                _text(row),
                base_of(row),
                row["count"],
                of_rows[n],
                list(map(_cell, table.cells[n], shares[n])),
            )
            for n, row in enumerate(rows)
        ],
        sentences=[table.test["text"]] if table.test else [],
        notes=table.notes,
        weighting=words_of(table.weighting, noun=noun),
    )


def _shares(table: CrossTable, shared: str) -> list[list[str]]:
    """The shares of cells, by row. They add up to 100% where a response is in one cell alone (rule 6.56)."""
    counts = [[cell["count"] for cell in row] for row in table.cells]
    is_row_single, is_column_single = not table.rows["is_multiple"], not table.columns["is_multiple"]
    if shared == "row" and is_column_single:
        return [percents(row) for row in counts]
    if shared == "column" and is_row_single:
        columns = [percents(column) for column in zip(*counts, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]
    if shared == "all" and is_row_single and is_column_single:
        found, width = percents(list(chain.from_iterable(counts))), len(table.columns["segments"])
        return [found[n * width : (n + 1) * width] for n in range(len(counts))]
    return [[percent(cell[_KEYS[shared]]) for cell in row] for row in table.cells]


def _of_all(by: Mapping[str, Any]) -> list[str]:
    """The shares of rows or columns in the table."""
    if by["is_multiple"]:
        return [percent(each["percentage"]) for each in by["segments"]]
    return percents([base_of(each) for each in by["segments"]])


def _title(by: Mapping[str, Any], form: CrossForm) -> str:
    return heading(by["title"], form.script) if by["prompt"] else str(by["title"])


def _text(segment: Mapping[str, Any]) -> str:
    return str(segment["label"] or segment["value"])


def _cell(cell: Mapping[str, Any], share: str) -> DrawnCell:
    differs = cell["differs"]
    return DrawnCell(
        count=cell["count"],
        shares={name: cell[key] for name, key in _KEYS.items()},
        share=share,
        mark="" if differs is None else MORE_MARK if differs == MORE else LESS_MARK,
        said="" if differs is None else f"{differs} than in the other rows",
    )
