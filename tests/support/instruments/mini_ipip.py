"""The Mini-IPIP: five factors as five buckets, eleven of the twenty items keyed in reverse.

Donnellan, Oswald, Baird and Lucas, "The Mini-IPIP scales: tiny-yet-effective measures of the Big Five
factors of personality", 2006; the key is that of the International Personality Item Pool (Goldberg et al.,
2006), whose items are in the public domain. A reversed item counts 6 less its point; a factor is the sum of
its four items, 4 to 20, or their mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.instruments.blocks import computes, option, says, scale

FACTORS = ("Extraversion", "Agreeableness", "Conscientiousness", "Neuroticism", "Intellect or Imagination")
KEYS = tuple(factor.lower().replace(" ", "_") for factor in FACTORS)
# Each with its factor's index and whether it is keyed in reverse.
ITEMS = (
    ("Am the life of the party.", 0, False),
    ("Sympathize with others' feelings.", 1, False),
    ("Get chores done right away.", 2, False),
    ("Have frequent mood swings.", 3, False),
    ("Have a vivid imagination.", 4, False),
    ("Don't talk a lot.", 0, True),
    ("Am not interested in other people's problems.", 1, True),
    ("Often forget to put things back in their proper place.", 2, True),
    ("Am relaxed most of the time.", 3, True),
    ("Am not interested in abstract ideas.", 4, True),
    ("Talk to a lot of different people at parties.", 0, False),
    ("Feel others' emotions.", 1, False),
    ("Like order.", 2, False),
    ("Get upset easily.", 3, False),
    ("Have difficulty understanding abstract ideas.", 4, True),
    ("Keep in the background.", 0, True),
    ("Am not really interested in others.", 1, True),
    ("Make a mess of things.", 2, True),
    ("Seldom feel blue.", 3, True),
    ("Do not have a good imagination.", 4, True),
)
LABELS = (
    "Very inaccurate",
    "Moderately inaccurate",
    "Neither accurate nor inaccurate",
    "Moderately accurate",
    "Very accurate",
)


def _points(point: int, reversed_: bool) -> int:
    return 6 - point if reversed_ else point


PROJECT = {
    "name": "Mini-IPIP",
    "type": "convo",
    "scoring_enabled": True,
    "scoring": {"buckets": [{"name": name, "order": n} for n, name in enumerate(FACTORS)]},
    "script": {
        "blocks": [
            *(
                scale(
                    f"item {n}",
                    text,
                    1,
                    5,
                    required=True,
                    options=[
                        option(point, {KEYS[factor]: _points(point, reversed_)}, label)
                        for point, label in enumerate(LABELS, start=1)
                    ],
                )
                for n, (text, factor, reversed_) in enumerate(ITEMS, start=1)
            ),
            *(computes(f"mean {key}", f"[score_{key}] / 4") for key in KEYS),
            computes("strongest", f"argmax({', '.join(f'[score_{key}]' for key in KEYS)})"),
            says("sums", " ".join(f"[score_{key}]" for key in KEYS)),
            says("maxima", " ".join(f"[max_score_{key}]" for key in KEYS)),
            says("means", " ".join(f"[mean {key}]" for key in KEYS)),
            says("strongest factor", "Above all: [strongest]."),
            says("total", "[score] of [max_score]"),
            *(
                says(f"about {key}", f"{factor}!", precondition=f'NOT((strongest = "{factor}"))')
                for key, factor in zip(KEYS, FACTORS, strict=True)
            ),
        ]
    },
}


def sums(points: Sequence[int]) -> list[int]:
    totals = [0] * len(FACTORS)
    for point, (_, factor, reversed_) in zip(points, ITEMS, strict=True):
        totals[factor] += _points(point, reversed_)
    return totals


def strongest(points: Sequence[int]) -> str:
    """Of equal ones the first."""
    totals = sums(points)
    return FACTORS[totals.index(max(totals))]


def answers(points: Sequence[int]) -> dict[str, object]:
    return {f"item {n}": each for n, each in enumerate(points, start=1)}
