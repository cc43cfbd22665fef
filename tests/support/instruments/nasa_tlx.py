"""The raw Task Load Index: the mean of six ratings, over those that were given.

Hart, "NASA-Task Load Index (NASA-TLX); 20 years later", 2006: without its weights the index is the mean of
the subscales, each 0 to 100 in steps of 5, and a subscale that does not matter to a task may be dropped.
The items are paraphrased.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tests.support.instruments.blocks import computes, number, says, where

SUBSCALES = ("mental", "physical", "temporal", "performance", "effort", "frustration")

PROJECT = {
    "name": "Raw TLX",
    "type": "convo",
    "script": {
        "blocks": [
            *(number(name, f"How much {name} load, 0 to 100?", 0, 100) for name in SUBSCALES),
            # An answer of 0 counts as an answer. Only a hidden calculation distinguishes 0 from no answer.
            *(computes(f"has {name}", "1", show_when=where(name, "gte", 0)) for name in SUBSCALES),
            computes("rated", " + ".join(f"[has {name}]" for name in SUBSCALES)),
            computes("load", f"({' + '.join(f'[{name}]' for name in SUBSCALES)}) / [rated]"),
            says("result", "Load [load], of [rated] subscales."),
            says("heavy", "A heavy task.", show_when=where("load", "gt", 50)),
        ]
    },
}


def load(ratings: Sequence[int | None]) -> Fraction:
    given = [each for each in ratings if each is not None]
    return Fraction(sum(given), len(given)) if given else Fraction(0)


def answers(ratings: Sequence[int | None]) -> dict[str, object]:
    return dict(zip(SUBSCALES, ratings, strict=True))
