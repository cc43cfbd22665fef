"""How numbers lie: quartiles, standard deviation, and the bins of a histogram (rules 6.300 and 6.301).

Everything is exact, whatever the order in which the numbers were counted.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, pairwise

MAX_BINS = 20
QUARTILES = (1, 2, 3)
_FACTORS = (1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class Spread:
    """How the numbers of an open question lie.

    A quartile lies between the two numbers of its pair in `around`. `counts` are the numbers in each of
    their `bins_of`; empty for a segment.
    """

    around: Sequence[tuple[float, float]]
    counts: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Bins:
    """Ranges of equal width. Each begins at a multiple of `step` and ends below the next multiple."""

    step: Decimal
    first: int  # The first range begins at `first * step`.
    count: int

    @property
    def lows(self) -> list[Decimal]:
        """The beginnings of the ranges."""
        return [(self.first + n) * self.step for n in range(self.count)]


def bins_of(*, count: int, low: float, high: float, deviation: float | None, is_whole: bool) -> Bins:
    """The bins for numbers with these bounds and this standard deviation.

    Their width is that of Scott's normal reference rule, rounded down to 1, 2 or 5 times a power of ten, but
    at least 1 for whole numbers, and larger if there were more than MAX_BINS.
    """
    lowest, highest = Decimal(repr(low)), Decimal(repr(high))
    scott = Decimal(3.49 * (deviation or 0.0) / count ** (1 / 3))
    least = max(scott, (highest - lowest) / MAX_BINS) or Decimal(10) ** lowest.adjusted()
    if is_whole:
        least = max(least, Decimal(1))
    power = Decimal(10) ** least.adjusted()
    for step, next_ in pairwise(factor * power for factor in _FACTORS):
        first, last = math.floor(lowest / step), math.floor(highest / step)
        if next_ > least and last - first < MAX_BINS:
            break
    return Bins(step, first, last - first + 1)


def deviation_of(count: int, total: Fraction, squares: Fraction, people: int | None = None) -> float | None:
    """The standard deviation of a sample (with n - 1), from the sums of its numbers and of their squares.

    Of weighted numbers `count` is the sum of their weights and `people` their number n. The weighted variance
    is multiplied by n / (n - 1). None for fewer than two numbers.
    """
    people = count if people is None else people
    if people < 2 or not count:
        return None
    return math.sqrt((count * squares - total**2) * people / (count**2 * (people - 1)))


def indexes(count: int, quartile: int, *, are_weights: bool = False) -> tuple[int, int]:
    """The indexes of the two numbers around a quartile (1 to 3), if the numbers are sorted.

    Of weights, `count` is their sum, and a number is there as often as its weight has units. The quartile is
    where the sum reaches the quarter, and lies between two numbers if it reaches the quarter exactly.
    """
    if are_weights:
        return -(-count * quartile // 4) - 1, min(count * quartile // 4, count - 1)
    index = (count - 1) * quartile // 4
    return index, min(index + 1, count - 1)


def of_frequencies(
    numbers: Sequence[float],
    frequencies: Sequence[int],
    lows: Sequence[float],
    *,
    are_weights: bool = False,
) -> Spread:
    """The spread of sorted numbers with their frequencies or weights, in the bins that begin at `lows`."""
    ends = list(accumulate(frequencies))
    pairs = [indexes(ends[-1], quartile, are_weights=are_weights) for quartile in QUARTILES]
    around = [[float(numbers[bisect_right(ends, index)]) for index in pair] for pair in pairs]
    below = [0, *ends]
    begins = [below[bisect_left(numbers, low)] for low in lows]
    counts = [end - begin for begin, end in pairwise([*begins, ends[-1]])]
    return Spread([(low, high) for low, high in around], counts)


def between(
    around: tuple[Decimal, Decimal], count: int, quartile: int, *, are_weights: bool = False
) -> Decimal:
    """The quartile of `count` numbers, interpolated between the two numbers around it; of weighted numbers
    their mean.
    """
    low, high = around
    if are_weights:
        return (low + high) / 2
    return low + (high - low) * ((count - 1) * quartile % 4) / 4
