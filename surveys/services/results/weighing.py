"""Weighted figures with the numbers of responses that they rest on (rules 6.374 and 6.375).

    refuse_undeclared(project=…, selection=…)     refuses a weight that is not declared
    joined(figures, weighted)                     weighted figures, with unweighted bases

Bases stay numbers of responses and get the sum of their weights beside them (`weighted_count`). Everything
that is counted within a base is a sum of weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from communities.ground.errors import refuse
from surveys.models import Project
from surveys.services.counting import weights
from surveys.services.counting.counts import Selection

Json = Mapping[str, Any]
_PARTS = ("distribution", "histogram", "ranking", "nps")
_COUNTS = frozenset(
    {
        "count", "points", "first_choice_count", "ranked_count", "promoters", "passives", "detractors",
        "positive", "neutral", "negative", "other_count",
    }
)  # fmt: skip


def refuse_undeclared(*, project: Project, selection: Selection) -> None:
    name = selection.weight_by
    if name is not None and name not in project.hidden_fields:
        refuse(weights.PARAMETER, "not_found", f"No field `{name}` is declared in `settings.hidden_fields`.")


def in_words(weighting: Json | None) -> str:
    """The mark of weighted figures; empty for others."""
    return f"weighted by {weighting['field']}" if weighting else ""


def amount(units: int) -> float:
    """A sum of weights as a number."""
    return units // weights.UNIT if units % weights.UNIT == 0 else units / weights.UNIT


def blocks(plain: Sequence[Json], weighted: Sequence[Json]) -> list[dict[str, Any]]:
    """The figures of blocks or of one block's segments, in the same order."""
    return [_block(*each) for each in zip(plain, weighted, strict=True)]


def bases(plain: Sequence[Json], weighted: Sequence[Json]) -> list[dict[str, Any]]:
    """Figures with a `count` of responses, such as those of scores and fields, in the same order."""
    return [_base(*each) for each in zip(plain, weighted, strict=True)]


def _block(plain: Json, weighted: Json) -> dict[str, Any]:
    found = {
        **plain,
        "weighted_count": amount(weighted["response_count"]),
        **{name: _in_weights(weighted[name]) for name in _PARTS if name in weighted},
        "stats": plain["stats"] and _base(plain["stats"], weighted["stats"]),
    }
    if text := plain["open_text"]:
        own = {name: text[name] for name in ("answer_count", "analysed_count") if name in text}
        found["open_text"] = {**_in_weights(weighted["open_text"]), **own}
    if "segments" in plain:
        found["segments"] = blocks(plain["segments"], weighted["segments"])
    return found


def _base(plain: Json, weighted: Json) -> dict[str, Any]:
    found = {
        **_in_weights(weighted),
        "count": plain["count"],
        "weighted_count": amount(weighted["count"]),
    }
    if "segments" in plain:
        found["segments"] = bases(plain["segments"], weighted["segments"])
    return found


def _in_weights(value: Any) -> Any:
    """The value, in which the sums of weights are numbers."""
    match value:
        case dict():
            return {
                name: amount(each) if name in _COUNTS and isinstance(each, int) else _in_weights(each)
                for name, each in value.items()
            }
        case list():
            return [_in_weights(each) for each in value]
    return value
