"""Counts of answers → the statistics of a block (rule 6.54): percentages, means, quartiles, ranks, NPS.

    summarize(block, removed, groups)                   the statistics of all answers to a block
    summarize(block, removed, groups, all_groups=...)   the statistics of one segment
    histogram(block, groups)                            the numbers of an open question in bins
    segment_entries(block, removed, groups)             the options or points by which answers are segmented
    max_entries(block, removed)                         the most entries that a block's distribution can have

An `AnswerGroup` is one group of the database's count: the answer rows of one block with the same option and
point. Points are whole numbers from 0 to 20, which covers every scale and every rank. Answers with another
number, or without a number, are one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from surveys.engine import spread
from surveys.engine.language.values import json_number
from surveys.engine.script import CHOICES, NUMBERS, SCALES, Block, Option
from surveys.engine.spread import Bins, Spread

MAX_POINT = 20
REPORTED_TYPES = frozenset({*CHOICES, *NUMBERS, "open_text", "ranking", "content_block"})
_DISTRIBUTED = CHOICES | SCALES
SEGMENT_TYPES = _DISTRIBUTED | {"ranking"}
BlockStatistics = dict[str, Any]
EntryKey = tuple[int | None, int | str | None]  # an option's id, or a scale's point, or a field's value


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """Answer rows with the same option and point.

    `people` counts the respondents whose first row of this block is in this group. `numbers` is the number
    of rows with a number; `total` is their exact sum, `lowest` and `highest` their bounds, and `squares` the
    exact sum of their squares. Counts that were stored for shared results have no `squares`. Only numbers of
    an open question have a `spread`.

    Of weighted answers all of these are sums of weights, in their smallest unit, and `unweighted` is the
    number of rows with a number.
    """

    option_id: int | None
    point: int | None
    rows: int
    people: int
    numbers: int = 0
    total: Decimal = Decimal(0)
    lowest: float | None = None
    highest: float | None = None
    squares: Decimal | None = None
    is_whole: bool = False
    spread: Spread | None = None
    unweighted: int | None = None

    @property
    def bins(self) -> Bins:
        """The bins of the group's numbers; call it only if there are some."""
        assert self.lowest is not None
        assert self.highest is not None
        return spread.bins_of(
            count=self.numbers if self.unweighted is None else self.unweighted,
            low=self.lowest,
            high=self.highest,
            deviation=_deviation([self]),
            is_whole=self.is_whole,
        )


@dataclass(frozen=True, slots=True)
class DistributionEntry:
    """One line of a distribution: an option, or a point of a scale."""

    key: EntryKey
    value: str
    label: str | None

    def as_json(self) -> dict[str, object]:
        return {"option_id": self.key[0], "value": self.value, "label": self.label}


def summarize(
    block: Block,
    removed: Sequence[Option],
    groups: Sequence[AnswerGroup],
    *,
    all_groups: Sequence[AnswerGroup] | None = None,
) -> BlockStatistics:
    """All statistics of a block; null for those that its type does not have.

    `removed` are its removed options. For a segment, `groups` are the groups of the segment and `all_groups`
    the groups of all answers. Every segment then has the same entries, so that segments can be compared.
    """
    if all_groups is None:
        all_groups = groups
    people = sum(group.people for group in groups)
    return {
        "response_count": people,
        "distribution": _distribution(entries(block, removed, all_groups), groups, people)
        if block.type in _DISTRIBUTED
        else None,
        "stats": _stats(groups) if block.type in NUMBERS else None,
        "ranking": _ranking(block, _items(block, removed, all_groups), groups)
        if block.type == "ranking"
        else None,
        "nps": _nps(groups) if block.type == "nps" else None,
    }


def entries(
    block: Block, removed: Sequence[Option], groups: Iterable[AnswerGroup]
) -> list[DistributionEntry]:
    """The entries of a choice's or a scale's distribution, in order.

    A choice has an entry for each option that was chosen, removed options last. A scale has an entry for
    every declared point from low to high, and for points that were answered before the scale was changed.
    """
    if block.type in CHOICES:
        chosen = {group.option_id for group in groups}
        return [entry for entry in map(_entry, (*block.options, *removed)) if entry.key[0] in chosen]
    return _points(block, removed, groups)


def segment_entries(
    block: Block, removed: Sequence[Option], groups: Iterable[AnswerGroup]
) -> list[DistributionEntry]:
    """The segments that a block defines: its `entries`, and the options that nobody chose. Of a ranking, the
    segments are the items, for those who ranked them first.
    """
    if block.type in SCALES:
        return _points(block, removed, groups)
    chosen = {group.option_id for group in groups}
    was_chosen = [option for option in removed if option.id in chosen]
    return [_entry(option) for option in (*block.options, *was_chosen)]


def max_entries(block: Block, removed: Sequence[Option]) -> int:
    """The entries of a distribution or ranking if every option was chosen; 1 for other blocks."""
    if block.type in SCALES:
        low, high = block.points
        return high - low + 1
    if block.type in CHOICES or block.type == "ranking":
        return max(len(block.options) + len(removed), 1)
    return 1


def percentage(part: float, whole: float) -> float:
    """0 to 100 with two decimals, halves rounded up; 0 if `whole` is 0."""
    return (20_000 * part + whole) // (2 * whole) / 100 if whole else 0.0


def _entry(option: Option) -> DistributionEntry:
    return DistributionEntry((option.id, None), option.value, option.label)


def _points(
    block: Block, removed: Sequence[Option], groups: Iterable[AnswerGroup]
) -> list[DistributionEntry]:
    low, high = block.points
    answered = {group.point for group in groups if group.point is not None}
    labels = {option.value: option.label for option in (*removed, *block.options)}
    return [
        DistributionEntry((None, point), str(point), labels.get(str(point)))
        for point in sorted(answered | set(range(low, high + 1)))
    ]


def _distribution(
    entries: Iterable[DistributionEntry], groups: Iterable[AnswerGroup], people: int
) -> list[dict[str, object]]:
    rows: dict[EntryKey, int] = {}
    for group in groups:
        key = (group.option_id, None) if group.option_id is not None else (None, group.point)
        rows[key] = rows.get(key, 0) + group.rows
    return [
        {
            **entry.as_json(),
            "count": rows.get(entry.key, 0),
            "percentage": percentage(rows.get(entry.key, 0), people),
        }
        for entry in entries
    ]


def histogram(block: Block, groups: Sequence[AnswerGroup]) -> dict[str, Any] | None:
    """The numbers of an open question in bins (rule 6.301); None for other blocks, and without numbers."""
    group = next((each for each in groups if each.spread), None)
    if block.type != "open_numeric" or group is None or group.spread is None:
        return None
    bins = group.bins
    return {
        "width": json_number(bins.step),
        "is_whole": group.is_whole,
        "ranges": [
            {
                "from": json_number(low),
                "to": json_number(low + bins.step),
                "count": count,
                "percentage": percentage(count, group.numbers),
            }
            for low, count in zip(bins.lows, group.spread.counts, strict=True)
        ],
    }


def _deviation(groups: Iterable[AnswerGroup]) -> float | None:
    """The standard deviation of the numbers in some groups; None if the squares of one are not known."""
    count, people, total, squares = 0, 0, Fraction(), Fraction()
    for group in groups:
        own = group.squares if group.point is None else Decimal(group.numbers * group.point**2)
        if own is None:
            return None
        count, total, squares = count + group.numbers, total + Fraction(group.total), squares + Fraction(own)
        people += group.numbers if group.unweighted is None else group.unweighted
    return spread.deviation_of(count, total, squares, people)


def _quartiles(groups: Sequence[AnswerGroup]) -> list[float | None]:
    """The quartiles of the numbers in some groups.

    None if a scale has numbers that are no points, from before the block became a scale.
    """
    count = sum(group.numbers for group in groups)
    are_weights = any(group.unweighted is not None for group in groups)
    if len(groups) == 1 and groups[0].spread is not None:
        around = [(Decimal(repr(low)), Decimal(repr(high))) for low, high in groups[0].spread.around]
    elif groups and all(group.point is not None for group in groups):
        points = sorted((group.point or 0, group.numbers) for group in groups)
        numbers, frequencies = [point for point, _ in points], [count for _, count in points]
        spread_of_points = spread.of_frequencies(numbers, frequencies, (), are_weights=are_weights)
        around = [(Decimal(low), Decimal(high)) for low, high in spread_of_points.around]
    else:
        return [None] * len(spread.QUARTILES)
    return [
        _whole(float(spread.between(pair, count, n, are_weights=are_weights)))
        for pair, n in zip(around, spread.QUARTILES, strict=True)
    ]


def _stats(groups: Iterable[AnswerGroup]) -> dict[str, object]:
    numeric = [group for group in groups if group.numbers]
    count = sum(group.numbers for group in numeric)
    total = sum((group.total for group in numeric), Decimal(0))
    lowest = [group.lowest for group in numeric if group.lowest is not None]
    highest = [group.highest for group in numeric if group.highest is not None]
    lower, median, upper = _quartiles(numeric)
    return {
        "count": count,
        "mean": float(total / count) if count else None,
        "min": _whole(min(lowest)) if lowest else None,
        "lower_quartile": lower,
        "median": median,
        "upper_quartile": upper,
        "max": _whole(max(highest)) if highest else None,
        "standard_deviation": _deviation(numeric),
    }


def _whole(number: float) -> float:
    """The number as an integer if it is whole."""
    return int(number) if number == int(number) else number


def _items(block: Block, removed: Sequence[Option], groups: Iterable[AnswerGroup]) -> list[Option]:
    ranked = {group.option_id for group in groups}
    return [*block.options, *(option for option in removed if option.id in ranked)]


def _ranking(block: Block, items: Sequence[Option], groups: Sequence[AnswerGroup]) -> list[dict[str, object]]:
    """Every item, including those that nobody ranked.

    A first place gives as many points as there are places, and each following place one less (rule 6.302).
    No place gives negative points, even if the ranking asked for more places before.
    """
    places, ranking = block.rank_top_n or len(items), []
    for item in items:
        ranks = [group for group in groups if group.option_id == item.id and group.point is not None]
        count = sum(group.rows for group in ranks)
        ranking.append(
            {
                **_entry(item).as_json(),
                "points": sum(max(0, places + 1 - (group.point or 0)) * group.rows for group in ranks),
                "average_rank": float(sum(group.total for group in ranks) / count) if count else None,
                "first_choice_count": sum(group.rows for group in ranks if group.point == 1),
                "ranked_count": count,
            }
        )
    return ranking


def places_of(ranking: Sequence[Mapping[str, Any]], block: Block | None) -> int:
    """The number of places in a ranking: the number that its block asks for, else one for each item."""
    return (block.rank_top_n if block else None) or len(ranking)


def by_points(ranking: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The items by points, highest first; equal items by the number of first places."""
    return sorted(ranking, key=lambda item: (-item["points"], -item["first_choice_count"]))


def _nps(groups: Iterable[AnswerGroup]) -> dict[str, object]:
    """The percentage of promoters (9 and 10) minus that of detractors (0 to 6), with one decimal."""
    promoters = passives = detractors = 0
    for group in groups:
        if group.point is None or group.option_id is not None or group.point > 10:
            continue
        if group.point >= 9:
            promoters += group.rows
        elif group.point >= 7:
            passives += group.rows
        else:
            detractors += group.rows
    answered = promoters + passives + detractors
    return {
        "score": _score(promoters - detractors, answered) if answered else None,
        "promoters": promoters,
        "passives": passives,
        "detractors": detractors,
    }


def _score(lead: int, answered: int) -> float:
    """The score with halves rounded away from 0, so that equal leads and deficits have equal size."""
    size = (2_000 * abs(lead) + answered) // (2 * answered) / 10
    return -size if lead < 0 else size
