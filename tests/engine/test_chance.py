"""Tests of tables of counts, against SciPy's, whose values are computed in other ways."""

from __future__ import annotations

import random

import pytest
from scipy.stats import chi2, chi2_contingency, fisher_exact

from surveys.engine import chance
from tests.support.cases import try_each


@try_each("freedom", [1, 2, 3, 6, 7, 40, 99, 400])
def test_the_chance_of_chi_squared_is_exact(freedom: int) -> None:
    for statistic in (0.0, 0.01, 0.7, 3.84, freedom, 2.0 * freedom, 5.0 * freedom + 30):
        assert chance.chance_of(statistic, freedom) == pytest.approx(chi2.sf(statistic, freedom), rel=1e-9)


def test_fishers_test_is_exact() -> None:
    chosen = random.Random(29)
    for _ in range(300):
        a, b, c, d = (chosen.choice([0, 1, 2, 3, 8, 40, 700]) for _ in range(4))
        if not (a + b and c + d and a + c and b + d):
            continue
        expected = fisher_exact([[a, b], [c, d]]).pvalue
        assert chance.fisher(a, b, c, d) == pytest.approx(expected, rel=1e-6), (a, b, c, d)


@try_each(
    ("rows", "name"),
    [
        ([[30, 20], [15, 35]], chance.YATES),
        ([[5, 5], [5, 5]], chance.YATES),
        ([[4, 5], [5, 5]], chance.FISHER),
        ([[12, 30, 18], [40, 22, 9]], "chi-squared test"),
        ([[30, 0, 20], [15, 0, 35], [0, 0, 0]], chance.YATES),
    ],
)
def test_the_test_fits_the_table(rows: list[list[int]], name: str) -> None:
    """Rule 6.326."""
    found = chance.compared(rows)

    assert found is not None
    assert found.name == name
    whole = chance.without_empty(rows)
    if name == chance.FISHER:
        assert found.p == pytest.approx(fisher_exact(whole).pvalue)
    else:
        expected = chi2_contingency(whole, correction=name == chance.YATES)
        assert found.p == pytest.approx(expected.pvalue)
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.freedom == expected.dof


@try_each("rows", [[], [[3, 4]], [[3], [4]], [[3, 0], [4, 0]], [[1, 2, 1], [2, 1, 1]]])
def test_what_cannot_be_compared_is_not_tested(rows: list[list[int]]) -> None:
    assert chance.compared(rows) is None


def test_several_tests_are_corrected_for_their_number() -> None:
    """Rule 6.327."""
    assert chance.beyond_chance([0.04]) == [True]
    assert chance.beyond_chance([0.04, 0.04]) == [False, False]
    assert chance.beyond_chance([0.04, 0.001, 0.02]) == [True, True, True]
    assert chance.beyond_chance([0.04, 0.02, 0.03]) == [False, False, False]
    assert chance.beyond_chance([]) == []
