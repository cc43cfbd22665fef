"""Levels: a name for how much XP somebody has gathered (decisions 9.2).

Level n needs 50 * n * (n + 1) XP in total: 100 for the first, 300 for the second, 600 for the third.
Everybody begins at level 0. Whole numbers throughout, so it holds for any total.
"""

from __future__ import annotations

from math import isqrt

STEP = 50


def needed_for(level: int) -> int:
    """The total with which a level begins."""
    return STEP * level * (level + 1)


def level_of(total: int) -> int:
    """The highest level whose need is met.

    With q = total // 50, that is the greatest n with n * (n + 1) <= q, or (2n + 1)**2 <= 4q + 1.
    """
    return (isqrt(4 * (total // STEP) + 1) - 1) // 2


def to_next(total: int) -> int:
    """What is missing to the next level; never 0."""
    return needed_for(level_of(total) + 1) - total


def progress(total: int) -> float:
    """How far it is from this level, at 0, to the next, at 1."""
    level = level_of(total)
    begins = needed_for(level)
    return (total - begins) / (needed_for(level + 1) - begins)
