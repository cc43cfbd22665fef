"""The seven items on generalised anxiety, on labelled scales, with a bucket of another name than Score.

Spitzer, Kroenke, Williams and Löwe, "A brief measure for assessing generalized anxiety disorder: the
GAD-7", 2006: seven items of 0 to 3, at most 21; 5, 10 and 15 are the lowest sums of mild, moderate and
severe. The first two alone are the GAD-2, positive from 3 on (Kroenke et al., "Anxiety disorders in primary
care", 2007). Free to use. Items may be left out here: one that is left out adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.instruments.blocks import option, says, scale, where
from tests.support.instruments.phq9 import FREQUENCIES

ITEMS = (
    "Feeling nervous, anxious, or on edge",
    "Not being able to stop or control worrying",
    "Worrying too much about different things",
    "Trouble relaxing",
    "Being so restless that it is hard to sit still",
    "Becoming easily annoyed or irritable",
    "Feeling afraid, as if something awful might happen",
)


def _item(n: int, text: str) -> dict[str, object]:
    options = [option(points, {"anxiety": points}, label) for points, label in enumerate(FREQUENCIES)]
    return scale(f"item {n}", text, 0, 3, options=options)


PROJECT = {
    "name": "GAD-7",
    "type": "convo",
    "scoring_enabled": True,
    "scoring": {"buckets": [{"name": "Anxiety"}]},
    "script": {
        "blocks": [
            *(_item(n, text) for n, text in enumerate(ITEMS[:2], start=1)),
            says("GAD 2", "The first two: [score_anxiety] of [max_score_anxiety]."),
            says("GAD 2 positive", "Positive.", show_when=where("$score_anxiety", "gte", 3)),
            *(_item(n, text) for n, text in enumerate(ITEMS[2:], start=3)),
            says("result", "[score_anxiety] of [max_score_anxiety] ([score] of [max_score])."),
            says("severe", "Severe.", show_when=where("$score_anxiety", "gte", 15)),
            says(
                "moderate",
                "Moderate.",
                show_when={"all": [where("$score_anxiety", "gte", 10), where("$score_anxiety", "lt", 15)]},
            ),
            says("mild", "Mild.", precondition="score_anxiety < 5 OR score_anxiety >= 10"),
            says("minimal", "Minimal.", hide_when=where("$score_anxiety", "gte", 5)),
        ]
    },
}
BANDS = ("severe", "moderate", "mild", "minimal")


def score(points: Sequence[int | None]) -> int:
    return sum(each or 0 for each in points)


def answers(points: Sequence[int | None]) -> dict[str, object]:
    return {f"item {n}": each for n, each in enumerate(points, start=1)}
