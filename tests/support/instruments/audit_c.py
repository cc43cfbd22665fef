"""Three questions on drinking, points by option, two thresholds, and questions that are passed over.

Bush, Kivlahan, McDonell, Fihn and Bradley, "The AUDIT alcohol consumption questions (AUDIT-C)", 1998, after
the World Health Organization's AUDIT: 0 to 4 points each, 12 at most; positive from 4 on for men and from 3
on for women (Bradley et al., 2003). Where all points are from the first question, drinking is taken to be
below the limits. The items are paraphrased; who never drinks is not asked how much.
"""

from __future__ import annotations

from tests.support.instruments.blocks import choice, computes, option, says, where

_QUESTIONS = (
    ("often", "How often do you drink?", ("never", "monthly", "weekly", "twice a week", "four times a week")),
    ("typical", "How many drinks on such a day?", ("1 or 2", "3 or 4", "5 or 6", "7 to 9", "10 or more")),
    ("binge", "How often six or more?", ("never", "less than monthly", "monthly", "weekly", "daily")),
)

PROJECT = {
    "name": "AUDIT-C",
    "type": "convo",
    "scoring_enabled": True,
    "script": {
        "blocks": [
            choice("sex", "Which limits are yours?", [option("man"), option("woman")]),
            *(
                choice(
                    name,
                    prompt,
                    [option(value, {"score": points}) for points, value in enumerate(values)],
                )
                for name, prompt, values in _QUESTIONS[:1]
            ),
            computes("first points", "[score]"),
            *(
                choice(
                    name,
                    prompt,
                    [option(value, {"score": points}) for points, value in enumerate(values)],
                    show_when=where("often", "ne", "never"),
                )
                for name, prompt, values in _QUESTIONS[1:]
            ),
            computes("other points", "[score] - [first points]"),
            says("result", "[score] of [max_score]."),
            says(
                "positive",
                "A positive screen.",
                show_when={
                    "any": [
                        {"all": [where("sex", "eq", "man"), where("$score", "gte", 4)]},
                        {"all": [where("sex", "eq", "woman"), where("$score", "gte", 3)]},
                    ]
                },
            ),
            says(
                "below the limits",
                "All [first points] from the first question.",
                show_when={"all": [where("first points", "gt", 0), where("other points", "eq", 0)]},
            ),
        ]
    },
}


def answers(sex: str, *points: int) -> dict[str, object]:
    """Points of the questions in order; those left out are not asked."""
    given = {name: values[n] for (name, _, values), n in zip(_QUESTIONS, points, strict=False)}
    return {"sex": sex, **given}


def is_positive(sex: str, *points: int) -> bool:
    return sum(points) >= (4 if sex == "man" else 3)
