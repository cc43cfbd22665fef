"""Figures of computed values as JSON: of each bucket, and of each calculated block.

    scores(script, counted, segments)        figures of each bucket, then of all together
    variables(script, counted, segments)     figures of each calculated block

`counted` contains the counts of `derived_counting`. With `segments`, each figure is repeated for each
segment. If `counted` are sums of weights, `unweighted` are the counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from surveys.engine import spread
from surveys.engine.language.values import json_number
from surveys.engine.script import Script
from surveys.engine.statistics import DistributionEntry, percentage
from surveys.services.counting.derived import (
    Counted,
    calculated_names,
    is_graded,
    is_of_field,
)
from surveys.services.counting.divisions import name_of

TOTAL = "Total"
NO_RANGE = (0, "0", None, None, None, "0", ())  # The figures of an empty set of responses.
_SPREAD = ("lower_quartile", "median", "upper_quartile", "standard_deviation")


class _Rows:
    """The counts, by kind, segment and key."""

    def __init__(self, counted: Counted, unweighted: Counted | None) -> None:
        self.ranges = {tuple(row[:3]): row[3:] for row in counted.get("ranges") or ()}
        self.are_weights = unweighted is not None
        ranges = (unweighted or counted).get("ranges") or ()
        self.people = {tuple(row[:3]): int(row[3]) for row in ranges}
        self.sums = {tuple(row[:2]): int(row[2]) for row in counted.get("sums") or ()}
        self.others = {key: int(count) for key, count in counted.get("others") or ()}
        self.entries: dict[tuple[Any, ...], dict[str, tuple[str | None, int]]] = {}
        for kind, segment, key, low, step, people in counted.get("entries") or ():
            self.entries.setdefault((kind, segment, key), {})[low] = (step, int(people))
        self.texts: dict[tuple[Any, ...], dict[str, int]] = {}
        for segment, key, text, people in counted.get("texts") or ():
            self.texts.setdefault((segment, key), {})[text] = int(people)


def scores(
    script: Script,
    counted: Counted,
    segments: Sequence[DistributionEntry] | None,
    unweighted: Counted | None = None,
) -> list[dict[str, Any]] | None:
    """Figures of each bucket, then of all buckets together if there are several; None if scoring is off."""
    if not script.scoring_enabled:
        return None
    _check_listed(counted, segments or ())
    rows = _Rows(counted, unweighted)
    figures = [
        _score(rows, script, "score", {"key": bucket.key, "name": bucket.name}, segments)
        for bucket in script.buckets
    ]
    if len(script.bucket_keys) > 1:
        figures.append(_score(rows, script, "total", {"key": None, "name": TOTAL}, segments))
    return figures


def variables(
    script: Script,
    counted: Counted,
    segments: Sequence[DistributionEntry] | None,
    unweighted: Counted | None = None,
) -> list[dict[str, Any]]:
    """Figures of each calculated block, in the order of the script."""
    _check_listed(counted, segments or ())
    rows = _Rows(counted, unweighted)
    found = []
    for key, (block_id, name) in calculated_names(script).items():
        is_text = (None, key) in rows.sums
        figures = partial(_texts if is_text else _numbers, rows, "variable", key=key)
        whole = figures(None)
        listed = sum(each["count"] for each in whole["distribution"])
        variable = {
            "block_id": block_id,
            "name": name,
            "is_text": is_text,
            **whole,
            "other_values": rows.others.get(key, 0),
            "other_count": whole["count"] - listed,
        }
        if segments is not None:
            variable["segments"] = [{**entry.as_json(), **figures(name_of(entry))} for entry in segments]
        found.append(variable)
    return found


def _check_listed(counted: Counted, segments: Sequence[DistributionEntry]) -> None:
    """Check that all values of a field are listed, because figures and scores are counted in two statements.

    Answers that are no longer options or points of the question are left out on purpose.
    """
    listed = {name_of(entry) for entry in segments}
    if not all(is_of_field(entry) for entry in segments):
        return
    names = {row[1] for row in counted.get("ranges") or ()} | {row[0] for row in counted.get("sums") or ()}
    unlisted = names - {None, *listed}
    assert not unlisted, f"{len(unlisted)} segments are counted and not listed."


def _score(
    rows: _Rows,
    script: Script,
    kind: str,
    about: Mapping[str, Any],
    segments: Sequence[DistributionEntry] | None,
) -> dict[str, Any]:
    key = about["key"] or ""

    def figures(segment: str | None) -> dict[str, Any]:
        *_, most, _, _ = rows.ranges.get((kind, segment, key), NO_RANGE)
        correct = _correct(rows, kind, segment, key) if is_graded(script) else None
        return {
            **_numbers(rows, kind, segment, key),
            "max_score": _number(most),
            "score_correct": correct,
        }

    divided = {}
    if segments is not None:
        divided["segments"] = [{**entry.as_json(), **figures(name_of(entry))} for entry in segments]
    return {**about, **figures(None), **divided}


def _correct(rows: _Rows, kind: str, segment: str | None, key: str) -> dict[str, Any]:
    """The points of correct answers only, and the highest possible sum of them."""
    *_, most, _, _ = rows.ranges.get((f"{kind}_correct", segment, key), NO_RANGE)
    stats = _stats(rows, f"{kind}_correct", segment, key)
    own = {name: stats[name] for name in ("mean", "min", "max")}
    return {**own, "max_score_correct": _number(most)}


def _stats(rows: _Rows, kind: str, segment: str | None, key: str) -> dict[str, Any]:
    people, total, low, high, _, squares, around = rows.ranges.get((kind, segment, key), NO_RANGE)
    count, numbers = int(people), list(map(Decimal, around))
    pairs = zip(numbers[::2], numbers[1::2], spread.QUARTILES, strict=True) if numbers else ()
    quartiles: list[float | None] = [
        json_number(spread.between((one, other), count, n, are_weights=rows.are_weights))
        for one, other, n in pairs
    ]
    own = rows.people.get((kind, segment, key), 0)
    deviation = spread.deviation_of(count, Fraction(total), Fraction(squares), own)
    return {
        "count": count,
        "mean": float(Decimal(total) / count) if count else None,
        "min": _number(low),
        **dict(zip(_SPREAD, [*(quartiles or [None] * len(spread.QUARTILES)), deviation], strict=True)),
        "max": _number(high),
    }


def _numbers(rows: _Rows, kind: str, segment: str | None, key: str) -> dict[str, Any]:
    """The figures of numbers. Every segment has the same entries as the whole."""
    stats = _stats(rows, kind, segment, key)
    step, lows = _lows(rows, kind, key)
    own = {Decimal(low): people for low, (_, people) in rows.entries.get((kind, segment, key), {}).items()}
    entries = [
        {
            "value": json_number(low) if step is None else None,
            "from": None if step is None else json_number(low),
            "to": None if step is None else json_number(low + step),
            "count": own.get(low, 0),
            "percentage": percentage(own.get(low, 0), stats["count"]),
        }
        for low in lows
    ]
    return {**stats, "distribution": entries}


def _lows(rows: _Rows, kind: str, key: str) -> tuple[Decimal | None, list[Decimal]]:
    """Return the width of the ranges (None for single numbers), and the start of each range, with empty
    ranges.
    """
    entries = rows.entries.get((kind, None, key), {})
    lows = [Decimal(low) for low in entries]
    widths = [width for width, _ in entries.values()]
    if not lows or widths[0] is None:
        return None, lows
    step = Decimal(widths[0])
    count = int((lows[-1] - lows[0]) / step) + 1
    return step, [lows[0] + n * step for n in range(count)]


def _texts(rows: _Rows, _: str, segment: str | None, key: str) -> dict[str, Any]:
    count, own = rows.sums.get((segment, key), 0), rows.texts.get((segment, key), {})
    return {
        "count": count,
        "mean": None,
        "min": None,
        **dict.fromkeys(_SPREAD),
        "max": None,
        "distribution": [
            {
                "value": text,
                "from": None,
                "to": None,
                "count": own.get(text, 0),
                "percentage": percentage(own.get(text, 0), count),
            }
            for text in rows.texts.get((None, key), {})
        ],
    }


def _number(text: str | None) -> int | float | None:
    return None if text is None else json_number(Decimal(text))
