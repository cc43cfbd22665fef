"""Scored projects, in a short notation, and the texts for somebody who answers them."""

from __future__ import annotations

from tests.support.instruments.blocks import choice, option, says
from tests.support.instruments.respondent import build, sit


def script(*blocks, **fields):
    """The body of a scored project."""
    return {
        "name": "Scores",
        "type": "convo",
        "scoring_enabled": True,
        "script": {"blocks": list(blocks)},
        **fields,
    }


def walked(caller, blocks, answers, **fields):
    """The texts, by block, that a new respondent read who gave these answers."""
    return sit(caller, build(caller, script(*blocks, **fields)), answers).said


def many(name, *options, **more):
    return {"name": name, "type": "multi_punch", "prompt": "Which?", "options": list(options), **more}


def points(name, *weights, **more):
    """A choice of `a`, `b`, … with these points in the bucket Score."""
    more = {"required": False, **more}
    return choice(
        name, "Which?", [option("abcdefgh"[n], {"score": w}) for n, w in enumerate(weights)], **more
    )


TELL = says("told", "[score] of [max_score]")
TWO = {"scoring": {"buckets": [{"name": "Fire Mage"}, {"name": "Sea"}]}}
