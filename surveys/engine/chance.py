"""Tests whether differences between counts are more than chance, each named in words.

    compared(rows)            the test that fits a table of counts of different people
    chi_squared(rows)         Pearson's chi-squared test; None if it may not be used
    fisher(a, b, c, d)        Fisher's exact test of a table of two rows and two columns
    beyond_chance(chances)    which of several tests found a difference, corrected for their number

Rows and columns of a table are divisions of the same people, and each person is in one cell. Counts are
fractions where people are weighted: their weighted counts are scaled to Kish's effective base. Fisher's test
rounds them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.05
LEAST_EXPECTED, MOST_BELOW, FEW_EXPECTED = 1, 0.2, 5  # Cochran's rule (1954) sets these limits.
FISHER = "Fisher's exact test"
YATES = "chi-squared test with Yates' correction"
_ROUGHLY = 1 + 1e-9  # Equal probabilities may differ by rounding.

Table = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class ChanceTest:
    """A test with its name, its p-value, and Cramér's V, which is 0 without and 1 with a full association.

    `statistic` and `freedom` are those of chi-squared tests; None for Fisher's.
    """

    name: str
    p: float
    effect: float
    statistic: float | None = None
    freedom: int | None = None


def without_empty(rows: Table) -> list[list[float]]:
    """The table without rows and columns that have nobody."""
    some = [row for row in rows if sum(row)]
    kept = [n for n, column in enumerate(zip(*some, strict=True)) if sum(column)]
    return [[row[n] for n in kept] for row in some]


def expected_counts(rows: Table) -> list[list[float]]:
    """The counts that the sums of rows and columns make most likely if there is no association."""
    total = sum(map(sum, rows))
    columns = [sum(column) for column in zip(*rows, strict=True)]
    return [[sum(row) * column / total for column in columns] for row in rows] if total else []


def compared(rows: Table) -> ChanceTest | None:
    """The test that fits: of two rows and two columns Fisher's where fewer than 5 are expected in a cell,
    else Yates'; of more the chi-squared test. None if there is nothing to compare, or too little.
    """
    rows = without_empty(rows)
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    if len(rows) > 2 or len(rows[0]) > 2:
        return chi_squared(rows)
    expected = expected_counts(rows)
    statistic = _statistic(rows, expected)
    effect = math.sqrt(statistic / sum(map(sum, rows)))
    [a, b], [c, d] = rows
    if min(map(min, expected)) < FEW_EXPECTED:
        return ChanceTest(FISHER, fisher(round(a), round(b), round(c), round(d)), effect)
    corrected = _statistic(rows, expected, correction=0.5)
    return ChanceTest(YATES, chance_of(corrected, 1), effect, corrected, 1)


def chi_squared(rows: Table) -> ChanceTest | None:
    """Pearson's test, with Cramér's V. None if Cochran's rule forbids it: too few are expected in cells."""
    expected = expected_counts(rows)
    every = [each for row in expected for each in row]
    if not every or min(every) < LEAST_EXPECTED:
        return None
    if sum(each < FEW_EXPECTED for each in every) > MOST_BELOW * len(every):
        return None
    statistic = _statistic(rows, expected)
    height, width = len(rows), len(rows[0])
    freedom = (height - 1) * (width - 1)
    effect = math.sqrt(statistic / (sum(map(sum, rows)) * (min(height, width) - 1)))
    return ChanceTest("chi-squared test", chance_of(statistic, freedom), effect, statistic, freedom)


def _statistic(rows: Table, expected: Sequence[Sequence[float]], correction: float = 0.0) -> float:
    return sum(
        max(abs(count - mean) - correction, 0.0) ** 2 / mean
        for row, means in zip(rows, expected, strict=True)
        for count, mean in zip(row, means, strict=True)
    )


def chance_of(statistic: float, freedom: int) -> float:
    """The probability that chi-squared with these degrees of freedom is at least as large.

    The sums are exact for whole degrees of freedom.
    """
    half = statistic / 2
    if half <= 0:
        return 1.0
    if freedom % 2 == 0:
        first, tail = 0.0, 0.0
    else:
        first, tail = 0.5, math.erfc(math.sqrt(half))
    terms = (n + first for n in range(freedom // 2))
    tail += math.fsum(math.exp(-half + each * math.log(half) - math.lgamma(each + 1)) for each in terms)
    return min(tail, 1.0)


def fisher(a: int, b: int, c: int, d: int) -> float:
    """The two-sided p-value: the probability of tables with these sums that are at most as likely."""
    row, column, total = a + b, a + c, a + b + c + d
    lowest, highest = max(0, row + column - total), min(row, column)

    def log_chance(count: int) -> float:
        cells = (count, row - count, column - count, total - row - column + count)
        return -sum(math.lgamma(each + 1) for each in cells)

    logs = [log_chance(count) for count in range(lowest, highest + 1)]
    most = max(logs)
    chances = [math.exp(each - most) for each in logs]
    observed = chances[a - lowest] * _ROUGHLY
    return min(math.fsum(each for each in chances if each <= observed) / math.fsum(chances), 1.0)


def beyond_chance(chances: Sequence[float]) -> list[bool]:
    """Which of these tests found a difference. By Holm's rule (1979) the chance that any of them is a false
    alarm stays below LEVEL.
    """
    found = [False] * len(chances)
    for n, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[place] * (len(chances) - n) >= LEVEL:
            break
        found[place] = True
    return found


def in_words(p: float) -> str:
    """A p-value as it is reported."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
