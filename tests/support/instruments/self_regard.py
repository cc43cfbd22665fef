"""Ten statements about oneself with five in reverse, scored as Rosenberg's self-esteem scale is.

Rosenberg, "Society and the adolescent self-image", 1965: ten items of 0 to 3, five of them counted in
reverse, 30 at most; below 15 is low, 15 to 25 the usual range. Whoever agrees strongly with everything, and
whoever disagrees strongly with everything, comes to 15. The items are our own.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.instruments.blocks import choice, computes, option, says

ITEMS = (
    ("I am worth as much as others.", False),
    ("I have several good sides.", False),
    ("Mostly I think that I fail.", True),
    ("I can do what others can.", False),
    ("I have little to be proud of.", True),
    ("I think well of myself.", False),
    ("On the whole I am content with myself.", False),
    ("I could respect myself more.", True),
    ("At times I feel useless.", True),
    ("At times I think I am no good.", True),
)
LEVELS = ("strongly disagree", "disagree", "agree", "strongly agree")


def _points(level: int, reversed_: bool) -> int:
    return 3 - level if reversed_ else level


PROJECT = {
    "name": "Self-regard",
    "type": "convo",
    "scoring_enabled": True,
    "scoring": {"buckets": [{"name": "Score"}]},
    "script": {
        "blocks": [
            *(
                choice(
                    f"item {n}",
                    text,
                    [
                        option(level, {"score": _points(points, reversed_)})
                        for points, level in enumerate(LEVELS)
                    ],
                    randomize_options=True,
                )
                for n, (text, reversed_) in enumerate(ITEMS, start=1)
            ),
            computes("range", "if [score] < 15 then low else if [score] <= 25 then usual else high"),
            says("result", "[score] of [max_score], [range]"),
            says("encouragement", "Be kind to yourself.", precondition='range != "low"'),
        ]
    },
}


def score(levels: Sequence[int]) -> int:
    return sum(_points(level, reversed_) for level, (_, reversed_) in zip(levels, ITEMS, strict=True))


def answers(levels: Sequence[int]) -> dict[str, object]:
    return {f"item {n}": LEVELS[level] for n, level in enumerate(levels, start=1)}
