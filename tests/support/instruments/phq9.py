"""The Patient Health Questionnaire's nine items on depression: the sum, its bands, and the algorithm.

Kroenke, Spitzer and Williams, "The PHQ-9: validity of a brief depression severity measure", 2001: items
count 0 to 3; 5, 10, 15 and 20 are the lowest sums of mild, moderate, moderately severe and severe. By the
algorithm a major depressive syndrome is suggested by five symptoms on more than half the days, the ninth
counting wherever it is there at all, if one of them is the first or the second. Free to reproduce.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.instruments.blocks import choice, computes, option, says, where

ITEMS = (
    "Little interest or pleasure in doing things",
    "Feeling down, depressed, or hopeless",
    "Trouble falling or staying asleep, or sleeping too much",
    "Feeling tired or having little energy",
    "Poor appetite or overeating",
    "Feeling bad about yourself, or that you are a failure or have let yourself or your family down",
    "Trouble concentrating on things, such as reading the newspaper or watching television",
    "Moving or speaking so slowly that other people could have noticed? Or the opposite, being so fidgety "
    "or restless that you have been moving around a lot more than usual",
    "Thoughts that you would be better off dead or of hurting yourself in some way",
)
FREQUENCIES = ("Not at all", "Several days", "More than half the days", "Nearly every day")
BANDS = ("minimal", "mild", "moderate", "moderately severe", "severe")

_SYMPTOMS = " + ".join(
    f"(if [item {n}] >= {1 if n == 9 else 2} then 1 else 0)" for n in range(1, len(ITEMS) + 1)
)

PROJECT = {
    "name": "PHQ-9",
    "type": "convo",
    "scoring_enabled": True,
    "script": {
        "blocks": [
            says(
                "about",
                "Nine problems. How often did each bother you over the last two weeks?",
                section="intro",
            ),
            *(
                choice(
                    f"item {n}",
                    item,
                    [option(points, {"score": points}, label) for points, label in enumerate(FREQUENCIES)],
                )
                for n, item in enumerate(ITEMS, start=1)
            ),
            choice(
                "difficulty",
                "How difficult have these problems made it for you to get on with things?",
                [option("not"), option("somewhat"), option("very"), option("extremely")],
                show_when=where("$score", "gt", 0),
            ),
            computes(
                "severity",
                "if [score] >= 20 then severe else if [score] >= 15 then moderately severe "
                "else if [score] >= 10 then moderate else if [score] >= 5 then mild else minimal",
            ),
            computes("symptoms", _SYMPTOMS),
            computes(
                "syndrome",
                'IF [symptoms] >= 5 AND ([item 1] >= 2 OR [item 2] >= 2) THEN suggested ELSE "not suggested"',
            ),
            says("result", "[score] of [max_score]: [severity]."),
            says("algorithm", "Symptoms: [symptoms]. A major depressive syndrome is [syndrome]."),
            *(
                says(f"band {n}", f"About {band}.", show_when=where("severity", "eq", band))
                for n, band in enumerate(BANDS)
            ),
            says(
                "see somebody",
                "Please talk with a doctor.",
                show_when={"any": [where("$score", "gte", 10), where("item 9", "gt", 0)]},
            ),
        ]
    },
}


def score(points: Sequence[int]) -> int:
    return sum(points)


def answers(points: Sequence[int]) -> dict[str, object]:
    """Nine items' points as answers."""
    return {f"item {n}": each for n, each in enumerate(points, start=1)} | {"difficulty": "somewhat"}
