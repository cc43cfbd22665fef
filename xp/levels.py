"""Levels, computed from a member's total XP (rules 8.7 and 8.8).

Level n needs 50 * n * (n + 1) XP in total: 100 for level 1, 300 for level 2, 600 for level 3. Everybody
starts at level 0. The arithmetic uses integers only, so it is exact for any total.
"""

from __future__ import annotations

from math import isqrt

STEP = 50


def needed_for(level: int) -> int:
    """The total XP at which a level begins."""
    return STEP * level * (level + 1)


def level_of(total: int) -> int:
    """The highest level that a total reaches.

    With q = total // 50 this is the greatest n with n * (n + 1) <= q, that is (2n + 1)**2 <= 4q + 1.
    """
    return (isqrt(4 * (total // STEP) + 1) - 1) // 2


def to_next(total: int) -> int:
    """The XP missing to the next level; at least 1."""
    return needed_for(level_of(total) + 1) - total


def progress(total: int) -> float:
    """The share of the way from the current level to the next, from 0 up to but not including 1."""
    level = level_of(total)
    start = needed_for(level)
    return (total - start) / (needed_for(level + 1) - start)
