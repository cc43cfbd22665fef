"""Sums of counts and of numbers with NumPy, exact in any order, also where they are weighted.

sums_of(places, length, weights)     how often each place is there, or the sum of its weights
Numbers()                            the sums, extremes and different numbers in each place
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Integers = np.ndarray[Any, np.dtype[np.int64]]
    Floats = np.ndarray[Any, np.dtype[np.float64]]

# A number with at most 15 digits is added as an integer and a power of ten; all other numbers are added one
# by one.
_MAX_DECIMALS = 9
_MOST_DIGITS = 10.0**15
HALF = 25  # The number of bits in a half. The sum of the halves of a batch is exact as a float.
_LOWER = (1 << HALF) - 1
_PART = 14  # The number of bits in a part of a weight, which has at most twice HALF.
EXACT = Context(prec=500)  # The precision is enough for squares of numbers with up to 115 decimals.
_ROWS_AT_ONCE = 1_000_000
# Quartiles need each different number in each place, with 24 bytes for each and as much again while they are
# sorted. With more of them, quartiles and bins are left out.
MOST_DIFFERENT = 2_000_000


def sums_of(places: Integers, length: int, weights: Integers | None) -> Integers:
    """How often each place is there, or the exact sum of its weights."""
    if weights is None:
        return np.bincount(places, minlength=length)
    upper, lower = (np.bincount(places, half, length) for half in (weights >> HALF, weights & _LOWER))
    found: Integers = (upper.astype(np.int64) << HALF) + lower.astype(np.int64)
    return found


def _parts_of(weights: Integers | None) -> Sequence[tuple[int, Any]]:
    """Parts of weights, each with the number of lower bits. The sum of their products with halves of numbers
    is exact as a float, like that of halves.
    """
    if weights is None:
        return [(0, 1)]
    return [(shift, weights >> shift & (1 << _PART) - 1) for shift in range(0, 2 * HALF, _PART)]


class Numbers:
    """The exact sums of numbers and of their squares, the lowest and highest, and the different numbers, in
    each place.

    A sum adds the numbers as PostgreSQL casts them to `numeric`: rounded to 15 digits.
    """

    def __init__(self) -> None:
        self._sums: dict[int, Decimal] = {}
        self._squares: dict[int, Decimal] = {}
        self._lowest: dict[int, float] = {}
        self._highest: dict[int, float] = {}
        self._different = _Different()

    def add(self, places: Integers, numbers: Floats, weights: Integers | None = None) -> None:
        """Add numbers, each as often as its weight says."""
        if not len(places):
            return
        own: Integers = np.ones(len(places), np.int64) if weights is None else weights
        self._different.add(places, numbers, own)
        used, compact = np.unique(places, return_inverse=True)
        lowest, highest = np.full(len(used), np.inf), np.full(len(used), -np.inf)
        np.minimum.at(lowest, compact, numbers)
        np.maximum.at(highest, compact, numbers)
        for place, low, high in zip(used.tolist(), lowest.tolist(), highest.tolist(), strict=True):
            self._lowest[place] = min(low, self._lowest.get(place, low))
            self._highest[place] = max(high, self._highest.get(place, high))
            self._sums.setdefault(place, Decimal(0))
            self._squares.setdefault(place, Decimal(0))
        for decimals in range(_MAX_DECIMALS + 1):
            scaled = np.rint(numbers * 10.0**decimals)
            fits = (scaled / 10.0**decimals == numbers) & (np.abs(scaled) < _MOST_DIGITS)
            integers = scaled[fits].astype(np.int64)
            self._add_integers(
                used, compact[fits], integers, None if weights is None else own[fits], decimals
            )
            compact, numbers, own = compact[~fits], numbers[~fits], own[~fits]
            if not len(numbers):
                return
        for place, number, times in zip(used[compact].tolist(), numbers.tolist(), own.tolist(), strict=True):
            written = Decimal(f"{number:.15g}")
            once = EXACT.multiply(written, times)
            self._sums[place] = EXACT.add(self._sums[place], once)
            self._squares[place] = EXACT.add(self._squares[place], EXACT.multiply(written, once))

    def _add_integers(
        self, used: Integers, compact: Integers, integers: Integers, weights: Integers | None, decimals: int
    ) -> None:
        if not len(integers):
            return
        parts = _parts_of(weights)

        def sums(terms: Integers) -> list[int]:
            found = [0] * len(used)
            for shift, part in parts:
                upper = np.bincount(compact, (terms >> HALF) * part, len(used)).tolist()
                lower = np.bincount(compact, (terms & _LOWER) * part, len(used)).tolist()
                for n, (high, low) in enumerate(zip(upper, lower, strict=True)):
                    found[n] += ((int(high) << HALF) + int(low)) << shift
            return found

        high, low = integers >> HALF, integers & _LOWER
        squares = zip(sums(high * high), sums(high * low), sums(low * low), strict=True)
        for place, total, (first, mixed, last) in zip(used.tolist(), sums(integers), squares, strict=True):
            square = (first << 2 * HALF) + (mixed << HALF + 1) + last
            self._sums[place] = EXACT.add(self._sums[place], Decimal(total).scaleb(-decimals, EXACT))
            self._squares[place] = EXACT.add(
                self._squares[place], Decimal(square).scaleb(-2 * decimals, EXACT)
            )

    def of(self, place: int) -> tuple[Decimal | None, Decimal | None, float | None, float | None]:
        """The sum, the sum of squares, the lowest and the highest number in a place."""
        return (
            self._sums.get(place),
            self._squares.get(place),
            self._lowest.get(place),
            self._highest.get(place),
        )

    def different(self, place: int) -> tuple[Floats, Integers]:
        """The different numbers in a place, and how often each was given."""
        return self._different.of(place)


class _Different:
    """The different numbers in each place, and how often each was given, or the sum of its weights; nothing
    if there are too many.

    Numbers wait until they are as many as those that are sorted already, so that each is sorted few times.
    """

    def __init__(self) -> None:
        self._places, self._numbers, self._counts = _none(np.int64), _none(np.float64), _none(np.int64)
        self._waiting: list[tuple[Integers, Floats, Integers]] = []
        self._length = 0
        self._are_too_many = False

    def add(self, places: Integers, numbers: Floats, counts: Integers) -> None:
        if self._are_too_many:
            return
        self._waiting.append((places, numbers, counts))
        self._length += len(places)
        if self._length >= max(_ROWS_AT_ONCE, len(self._places)):
            self._sort()

    def _sort(self) -> None:
        kept = (self._places, self._numbers, self._counts)
        places, numbers, counts = (np.concatenate(each) for each in zip(kept, *self._waiting, strict=True))
        self._waiting, self._length = [], 0
        order = np.lexsort((numbers, places))
        places, numbers, counts = places[order], numbers[order], counts[order]
        is_new = np.ones(len(places), bool)
        is_new[1:] = (places[1:] != places[:-1]) | (numbers[1:] != numbers[:-1])
        begins = np.flatnonzero(is_new)
        self._are_too_many = len(begins) > MOST_DIFFERENT
        if self._are_too_many:
            begins = begins[:0]
        self._places, self._numbers = places[begins], numbers[begins]
        self._counts = np.add.reduceat(counts, begins) if len(begins) else _none(np.int64)

    def of(self, place: int) -> tuple[Floats, Integers]:
        if self._waiting:
            self._sort()
        begin, end = np.searchsorted(self._places, [place, place + 1])
        return self._numbers[begin:end], self._counts[begin:end]


def _none(kind: Any) -> Any:
    return np.empty(0, kind)
