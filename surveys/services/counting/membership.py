"""Which conversations are in which segments, as matrices of NumPy: a cross table is the product of two.

crossing = Crossing(rows, columns)
crossing.add(data, marks)      packed conversations, and the marks of both divisions
crossing.counts(), .weights()  the numbers of conversations in each row, each column and each cell
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from surveys.services.counting.answer_groups import ReportedBlock
from surveys.services.counting.divisions import Values, name_of
from surveys.services.counting.numbers import HALF
from surveys.services.counting.packed import cells_of, segments_of
from surveys.services.counting.weights import UNIT

if TYPE_CHECKING:
    Integers = np.ndarray[Any, np.dtype[np.int64]]
    Matrix = np.ndarray[Any, np.dtype[np.bool_]]


class _Membership(Protocol):
    names: list[str]  # of the segments, by place
    is_open: bool

    def matrix(self, records: Integers, marks: Sequence[Any], among: Matrix) -> Matrix:
        """A line for each conversation with the segments that it is in. Those not `among` may have none."""


class _OfBlock:
    """The segments of a choice, a scale or a ranking, from packed answers."""

    is_open = False

    def __init__(self, dividing: ReportedBlock) -> None:
        cells, self._lookup = cells_of([dividing])
        keys, self._segment_of_cell = segments_of(dividing, cells)
        self.names = [str(point if option_id is None else option_id) for option_id, point in keys]

    def matrix(self, records: Integers, marks: Sequence[Any], among: Matrix) -> Matrix:
        found = np.zeros((len(marks), len(self.names)), np.bool_)
        of_records = self._segment_of_cell[self._lookup.cells(records)]
        naming = np.flatnonzero(of_records >= 0)
        found[np.searchsorted(np.flatnonzero(records == 0), naming), of_records[naming]] = True
        return found


class _OfValues:
    """The segments of values that the database computes."""

    def __init__(self, dividing: Values) -> None:
        self._is_multiple, self.is_open = dividing.is_multiple, dividing.is_open
        self._most = dividing.most
        self.names = list(dict.fromkeys(map(name_of, dividing.entries)))
        self._places = {name: place for place, name in enumerate(self.names)}

    def matrix(self, records: Integers, marks: Sequence[Any], among: Matrix) -> Matrix:
        lines, places = list[int](), list[int]()
        for n, mark in enumerate(marks):
            if mark is None or not among[n]:
                continue
            for name in mark if self._is_multiple else (mark,):
                place = self._places.get(name)
                if place is None and self.is_open and len(self.names) <= self._most:
                    place = self._places[name] = len(self.names)
                    self.names.append(name)
                if place is not None:
                    lines.append(n)
                    places.append(place)
        found = np.zeros((len(marks), len(self.names)), np.bool_)
        found[lines, places] = True
        return found


class Crossing:
    """Counts conversations in each cell. One in several rows or columns is once in each.

    Of open values, one more than their limit is counted, because more are refused.
    """

    def __init__(self, rows: ReportedBlock | Values, columns: ReportedBlock | Values) -> None:
        self._sides: list[_Membership] = [
            _OfValues(each) if isinstance(each, Values) else _OfBlock(each) for each in (rows, columns)
        ]
        self.count = 0
        self._sums = [np.zeros(0, np.int64), np.zeros(0, np.int64)]
        self._cells = np.zeros((0, 0), np.int64)
        self.weight, self.squares = 0, 0.0  # the sums of the weights and of their squares
        self._weights = [np.zeros(0, np.int64), np.zeros(0, np.int64)]
        self._weights_of_cells = np.zeros((0, 0), np.int64)

    def add(self, data: bytes, marks: Sequence[Sequence[Any]], weights: Sequence[int] | None = None) -> None:
        """Count some conversations, and add up their `weights`; their records are as in
        `packed.Counter.add`.
        """
        records = np.frombuffer(data, ">i8").astype(np.int64)
        among = np.ones(len(marks[0]), np.bool_)
        for side, own in zip(self._sides, marks, strict=True):
            if side.is_open:
                among &= [mark is not None for mark in own]
        found: dict[int, Matrix] = {}
        # Open values come last, because those of conversations in no other segment are not counted.
        for n in sorted((0, 1), key=lambda n: self._sides[n].is_open):
            found[n] = self._sides[n].matrix(records, marks[n], among)
            among &= found[n].any(axis=1)
        self.count += int(among.sum())
        # Sums of some thousand ones are exact as 32-bit floats, and such a product takes a tenth of the time.
        in_rows, in_columns = (found[side][among].astype(np.float32) for side in (0, 1))
        self._sums = [
            _added(old, each.sum(axis=0)) for old, each in zip(self._sums, (in_rows, in_columns), strict=True)
        ]
        self._cells = _added(self._cells, in_rows.T @ in_columns)
        if weights is not None:
            self._weigh([found[side][among].astype(np.float64) for side in (0, 1)], np.array(weights)[among])

    def _weigh(self, sides: Sequence[np.ndarray[Any, Any]], weights: Integers) -> None:
        """Add the weights of conversations. Sums of halves of some thousand weights are exact as floats."""
        self.weight += int(weights.sum())
        self.squares += float(((weights / UNIT) ** 2).sum())
        in_rows, in_columns = sides
        for shift, half in ((HALF, weights >> HALF), (0, weights & (1 << HALF) - 1)):
            weighed = in_rows * half[:, None]
            self._weights = [
                _added(old, each, shift)
                for old, each in zip(self._weights, (weighed.sum(axis=0), half @ in_columns), strict=True)
            ]
            self._weights_of_cells = _added(self._weights_of_cells, weighed.T @ in_columns, shift)

    def counts(self) -> tuple[dict[str, int], dict[str, int], dict[tuple[str, str], int]]:
        return self._named(self._sums, self._cells)

    def weights(self) -> tuple[dict[str, int], dict[str, int], dict[tuple[str, str], int]]:
        return self._named(self._weights, self._weights_of_cells)

    def _named(
        self, of_sides: Sequence[Integers], of_cells: Integers
    ) -> tuple[dict[str, int], dict[str, int], dict[tuple[str, str], int]]:
        rows, columns = (side.names for side in self._sides)
        sums = [
            {side.names[place]: int(own[place]) for place in np.flatnonzero(own).tolist()}
            for side, own in zip(self._sides, of_sides, strict=True)
        ]
        cells = {
            (rows[row], columns[column]): int(of_cells[row, column])
            for row, column in np.argwhere(of_cells).tolist()
        }
        return sums[0], sums[1], cells


def _added(old: Integers, new: np.ndarray[Any, Any], shift: int = 0) -> Integers:
    """The sum, in the shape of the new, which may have grown, and is shifted by some bits."""
    found: Integers = np.rint(new).astype(np.int64) << shift
    found[tuple(slice(length) for length in old.shape)] += old
    return found
