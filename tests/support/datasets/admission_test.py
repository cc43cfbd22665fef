"""What 1,000 persons answered to 5 items of section 6 of the Law School Admission Test: right or wrong.

From R. D. Bock and M. Lieberman, Fitting a response model for n dichotomously scored items, Psychometrika 35
(1970), pages 179 to 197. The figures are those of `lsat6` in the R package psych, of `LSAT` in ltm.
"""

from __future__ import annotations

from collections.abc import Iterator

# How many answered so: item by item, 1 where that was right.
PATTERNS = {
    "00000": 3, "00001": 6, "00010": 2, "00011": 11, "00100": 1, "00101": 1, "00110": 3, "00111": 4,
    "01000": 1, "01001": 8, "01010": 0, "01011": 16, "01100": 0, "01101": 3, "01110": 2, "01111": 15,
    "10000": 10, "10001": 29, "10010": 14, "10011": 81, "10100": 3, "10101": 28, "10110": 15, "10111": 80,
    "11000": 16, "11001": 56, "11010": 21, "11011": 173, "11100": 11, "11101": 61, "11110": 28, "11111": 298,
}  # fmt: skip

# As published.
SIZE = 1000
RIGHT = (0.924, 0.709, 0.553, 0.763, 0.870)
BY_TOTAL = (3, 20, 85, 237, 357, 298)


def persons() -> Iterator[str]:
    """The pattern of each."""
    for pattern, count in PATTERNS.items():
        yield from [pattern] * count
