"""Weights of responses: the numbers that a declared field has in them (rules 6.374 to 6.378).

offered(project)            the declared fields that may have weights
condition(name)             the condition that a conversation `c` has a usable weight
expression(name)            its weight in SQL, as a whole number of `UNIT`s
part(name, where, …)        the part of a statement that counts the weights, and the responses without one
weighting(name, counted)    the figures of that part

A weight is a number above 0, and at most MOST. Weights are counted in whole billionths, so that sums are
exact in any order of responses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from communities.ground.errors import refuse
from communities.ground.statements import Part
from surveys.models import Project
from surveys.services.counting import sent_fields

PARAMETER = "weight_by"
UNIT = 1_000_000_000  # One response without weights would have this weight.
MOST = 1_000_000
MOST_TOGETHER = 9_000_000_000  # The sum of the weights; in UNITs it fits into 64 bits.
DOMINATES = 0.05  # One response has more of the weights than this share, …
TIMES_THE_MEAN = 5  # … and more than so many times its part: among few responses each has a large share.
USABLE = "usable"
REASONS = ("missing", "not_a_number", "zero", "negative", "too_large")  # why a weight is not usable
NUMBER = r"^ *[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9][0-9]?)? *$"
# Without a subselect, which would take ten times as long for each response.
_TEXT = "c.state->'fields'->>%s"
_WEIGHT = f"CASE WHEN {_TEXT} ~ '{NUMBER}' THEN round(({_TEXT})::numeric, 9) END"
_COUNTED = f"""
    SELECT json_agg(json_build_array(reason, people, total::text, squares::text, most::text)) FROM (
        SELECT CASE WHEN coalesce(text, '') = '' THEN 'missing' WHEN weight IS NULL THEN 'not_a_number'
                WHEN weight < 0 THEN 'negative' WHEN weight = 0 THEN 'zero'
                WHEN weight > {MOST} THEN 'too_large' ELSE '{USABLE}' END AS reason,
            count(*) AS people, sum(weight) AS total, sum(weight * weight) AS squares,
            max(weight) AS most
        FROM (
            SELECT {_TEXT} AS text, {_WEIGHT} AS weight
            FROM surveys_conversation c WHERE {{}} AND c.is_listed OFFSET 0
        ) weights GROUP BY 1
    ) reasons
"""


def offered(project: Project) -> list[str]:
    """The declared fields that may have weights: those without listed values, or with a listed number."""
    declared = sent_fields.declared(project=project, names=project.hidden_fields)
    return [name for name, values in declared.items() if not values or any(map(_is_number, values))]


_is_number = re.compile(NUMBER, re.ASCII).match


def condition(name: str) -> Part:
    return f"coalesce({_WEIGHT} BETWEEN 0.000000001 AND {MOST}, FALSE)", [name] * 2


def expression(name: str) -> Part:
    return f"({_WEIGHT} * {UNIT})::bigint", [name] * 2


def part(name: str, where: str, values: Sequence[Any]) -> Part:
    """The part of a statement that counts the weights of selected conversations `c` with an answer.

    `where` does not ask for a usable weight.
    """
    return _COUNTED.format(where), [*[name] * 3, *values]


def weighting(name: str, counted: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """How many responses have a weight, their sum, Kish's effective base, the share of the largest weight,
    and who is left out and why.

    Refuses weights that add up to too much.
    """
    found = {
        reason: (people, float(total or 0), float(squares or 0), float(most or 0))
        for reason, people, total, squares, most in counted
    }
    count, total, squares, most = found.get(USABLE, (0, 0.0, 0.0, 0.0))
    if total > MOST_TOGETHER:
        refuse(
            PARAMETER, "too_large", f"The weights add up to more than {MOST_TOGETHER:,}, which is the limit."
        )
    return {
        "by": f"field.{name}",
        "field": name,
        "count": count,
        "weighted_count": total,
        "effective_count": effective(total, squares),
        "largest_share": round(100 * most / total, 2) if total else 0.0,
        "is_dominated": most > total * DOMINATES and most * count > total * TIMES_THE_MEAN,
        "left_out": {reason: found[reason][0] if reason in found else 0 for reason in REASONS},
    }


def effective(total: float, squares: float) -> float:
    """Kish's effective base (1965): the square of the sum of the weights by the sum of their squares.

    The number of responses without weights that would make an estimate equally certain.
    """
    return total**2 / squares if squares else 0.0
