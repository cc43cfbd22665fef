"""A quiz with two buckets and two calculated blocks, and five people who took it."""

from __future__ import annotations

from typing import Any

from tests.support.caller import Caller
from tests.support.instruments.blocks import choice, computes, option
from tests.support.instruments.respondent import build, sit
from tests.support.surveys.scored_projects import TWO, script

GRADED = choice(
    "Colour",
    "Which?",
    [option("red", {"fire_mage": 3, "sea": 0.5}), option("blue", {"sea": 2})],
    correct_answer_index=0,
    required=False,
)
SHAPE = choice("Shape", "Which?", [option("a", {"sea": 4}), option("b", {"sea": 1})], required=False)
TOTAL = computes("Total", "[score] * 2")
KIND = computes("Kind", 'if [score] > 5 then "much" else "little"')
PEOPLE = [("red", "a"), ("red", "b"), ("blue", "a"), ("blue", "b"), ("red", "a")]


def quiz(caller: Caller, people: Any = PEOPLE, **fields: Any) -> dict[str, Any]:
    project = build(caller, script(GRADED, TOTAL, SHAPE, KIND, scoring=TWO["scoring"], **fields))
    for colour, shape in people:
        sit(caller, project, {"Colour": colour, "Shape": shape})
    return project
