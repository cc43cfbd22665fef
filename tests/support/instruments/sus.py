"""The System Usability Scale, computed by one formula from plain number scales.

Brooke, "SUS: a 'quick and dirty' usability scale", 1996: the odd items count their point less 1, the even
ones 5 less their point, and the sum times 2.5 is the score, 0 to 100; who cannot answer an item marks the
middle. Acceptable above 70, marginal from 50 on (Bangor, Kortum and Miller, "An empirical evaluation of the
System Usability Scale", 2008). The items are paraphrased.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from tests.support.instruments.blocks import computes, says, scale, where

ITEMS = (
    "I would use it often.",
    "It is more complicated than it has to be.",
    "It was easy to use.",
    "I would need somebody technical beside me.",
    "Its parts fit together.",
    "It is inconsistent.",
    "Most people would learn it fast.",
    "It is awkward to use.",
    "I felt sure of myself.",
    "There was a lot to learn first.",
)


def _contribution(n: int) -> str:
    point = f"(if [item {n}] then [item {n}] else 3)"
    return f"({point} - 1)" if n % 2 else f"(5 - {point})"


PROJECT = {
    "name": "SUS",
    "type": "convo",
    "script": {
        "blocks": [
            *(scale(f"item {n}", item, 1, 5) for n, item in enumerate(ITEMS, start=1)),
            computes("usability", f"({' + '.join(map(_contribution, range(1, 11)))}) * 2.5"),
            computes(
                "verdict",
                "if [usability] > 70 then acceptable else if [usability] >= 50 then marginal "
                'else "not acceptable"',
            ),
            says("result", "[usability] points: [verdict]."),
            says("above average", "Better than most.", show_when=where("usability", "gt", 68)),
            says("by position", "q11 is [q11], q12 is [q12].", show_when=where("$q12", "ne", "marginal")),
        ]
    },
}


def score(points: Sequence[int | None]) -> Decimal:
    known = [3 if each is None else each for each in points]
    odd, even = sum(known[0::2]) - 5, 25 - sum(known[1::2])
    return (odd + even) * Decimal("2.5")


def verdict(points: Sequence[int | None]) -> str:
    total = score(points)
    return "acceptable" if total > 70 else "marginal" if total >= 50 else "not acceptable"


def answers(points: Sequence[int | None]) -> dict[str, object]:
    return {f"item {n}": each for n, each in enumerate(points, start=1)}
