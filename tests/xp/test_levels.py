"""Levels against their definition: level n begins at 50 * n * (n + 1) (rule 8.7)."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import try_each
from xp import levels

TABLE = [
    # total, level, missing to the next
    (0, 0, 100),
    (99, 0, 1),
    (100, 1, 200),
    (299, 1, 1),
    (300, 2, 300),
    (599, 2, 1),
    (600, 3, 400),
    (1_000, 4, 500),
    (5_500, 10, 1_100),
    (505_000, 100, 10_100),
]


@try_each(("total", "level", "missing"), TABLE)
def test_a_total_has_a_level(total: int, level: int, missing: int) -> None:
    assert levels.level_of(total) == level
    assert levels.to_next(total) == missing


@given(st.integers(0, 10**40))
def test_the_level_is_the_highest_one_reached(total: int) -> None:
    level = levels.level_of(total)

    assert 50 * level * (level + 1) <= total < 50 * (level + 1) * (level + 2)
    assert levels.level_of(total + levels.to_next(total)) == level + 1
    assert 0 <= levels.progress(total) <= 1


@given(st.integers(1, 10**40))
def test_one_short_of_a_level_is_the_level_before(level: int) -> None:
    needed = levels.needed_for(level)

    assert (levels.level_of(needed - 1), levels.level_of(needed)) == (level - 1, level)
    assert levels.to_next(needed - 1) == 1
    assert levels.progress(needed) == 0
