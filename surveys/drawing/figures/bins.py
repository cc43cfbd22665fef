"""Groups numbers into columns of equal width, so that distances along a chart's axis are correct.

bins_of(distribution)     the columns, from low to high, empty ones included
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from surveys.drawing.figures.charts import Entry, number, range_of

MAX_BINS = 12
FACTORS = (1, 2, 5, 10, 20)  # multiplied by powers of ten, these are widths that are easy to read


@dataclass(frozen=True, slots=True)
class Bin:
    """One column: a number or a range, in words, and the number of its responses.

    `is_open` marks a range without its upper end, which belongs to the next range; the chart must say so.
    """

    text: str
    count: float
    is_range: bool = False
    is_open: bool = False


def bins_of(distribution: Sequence[Entry]) -> list[Bin]:
    """Return a column for each whole number if they fit, otherwise ranges of equal width.

    `distribution` is that of scores or calculated numbers, low to high. The ranges in it have equal width.
    """
    values = [each["value"] for each in distribution]
    if not values:
        return []
    if values[0] is None:
        return [_open(range_of(each["from"], each["to"]), each["count"]) for each in distribution]
    counts = [each["count"] for each in distribution]
    if len(values) == 1:
        return [Bin(number(values[0]), counts[0])]
    if all(isinstance(value, int) for value in values):
        return _whole(values, counts)
    return _fractional([Decimal(str(value)) for value in values], counts)


def _whole(values: Sequence[int], counts: Sequence[int]) -> list[Bin]:
    """Ranges that include both of their ends, such as 0–19 and 20–39."""
    low, high = values[0], values[-1]
    power = 10 ** (len(str((high - low) // MAX_BINS)) - 1)
    step = next(
        power * factor for factor in FACTORS if high // (power * factor) - low // (power * factor) < MAX_BINS
    )
    first = low // step
    people: list[float] = [0] * (high // step - first + 1)
    for value, count in zip(values, counts, strict=True):
        people[value // step - first] += count
    lows = [(first + n) * step for n in range(len(people))]
    if step == 1:
        return [Bin(number(at), count) for at, count in zip(lows, people, strict=True)]
    return [
        Bin(range_of(at, at + step - 1), count, is_range=True) for at, count in zip(lows, people, strict=True)
    ]


def _fractional(values: Sequence[Decimal], counts: Sequence[int]) -> list[Bin]:
    """Ranges without their upper ends; the last one includes its own."""
    low, high = values[0], values[-1]
    power = Decimal(10) ** ((high - low) / MAX_BINS).adjusted()
    step = next(
        power * factor
        for factor in FACTORS
        if _ceiling(high / (power * factor)) - _floor(low / (power * factor)) <= MAX_BINS
    )
    first = _floor(low / step)
    people: list[float] = [0] * (_ceiling(high / step) - first)
    for value, count in zip(values, counts, strict=True):
        people[min(_floor(value / step) - first, len(people) - 1)] += count
    decimals = max(0, -int(step.normalize().as_tuple().exponent))
    return [
        _open(range_of((first + n) * step, (first + n + 1) * step, decimals), count)
        for n, count in enumerate(people)
    ]


def _open(text: str, count: float) -> Bin:
    return Bin(text, count, is_range=True, is_open=True)


def _floor(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_FLOOR))


def _ceiling(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_CEILING))
