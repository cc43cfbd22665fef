"""Hair, eyes and sex of 592 students of statistics.

The table of hair and eyes is from R. D. Snee, Graphical display of two-way contingency tables, The American
Statistician 28 (1974), pages 9 to 12; the split by sex from M. Friendly, Visualizing Categorical Data (2000).
The figures are those of `HairEyeColor` among the data sets of R, where the documentation names these sources.
"""

from __future__ import annotations

from collections.abc import Iterator

HAIR = ("Black", "Brown", "Red", "Blond")
EYES = ("Brown", "Blue", "Hazel", "Green")
SEXES = ("Male", "Female")
COUNTS = {
    "Male": ((32, 11, 10, 3), (53, 50, 25, 15), (10, 10, 7, 7), (3, 30, 5, 8)),
    "Female": ((36, 9, 5, 2), (66, 34, 29, 14), (16, 7, 7, 7), (4, 64, 5, 8)),
}

# As published: the margins, and the table of hair (a line each) and eyes.
SIZE = 592
BY_HAIR = {"Black": 108, "Brown": 286, "Red": 71, "Blond": 127}
BY_EYES = {"Brown": 220, "Blue": 215, "Hazel": 93, "Green": 64}
BY_SEX = {"Male": 279, "Female": 313}
EYES_BY_HAIR = {
    "Black": (68, 20, 15, 5),
    "Brown": (119, 84, 54, 29),
    "Red": (26, 17, 14, 14),
    "Blond": (7, 94, 10, 16),
}


def students() -> Iterator[tuple[str, str, str]]:
    """Hair, eyes and sex of each."""
    for sex, table in COUNTS.items():
        for hair, line in zip(HAIR, table, strict=True):
            for eyes, count in zip(EYES, line, strict=True):
                yield from [(hair, eyes, sex)] * count
