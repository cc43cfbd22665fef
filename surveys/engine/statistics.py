"""From raw counts to what an analysis tells of a block (interface 2.11): shares, means, ranks, NPS.

    tell(block, removed, groups)              what all answers to a block come to
    tell(block, removed, groups, among=all_)  the same of a part of them, entry for entry
    keys(block, removed, groups)              the options or points that answers may be divided by
    most_entries(block, removed)              how many lines a block can come to, before anything is counted

A `Group` is what the database counts: answer rows of one block that have option and point in common. Whole
numbers from 0 to 20 are points, which is every point and every rank that there can be; answers that are
other numbers, or none, are one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from surveys.engine.script import CHOICES, NUMBERS, SCALES, Block, Option

MAX_POINT = 20
REPORTED_TYPES = frozenset({*CHOICES, *NUMBERS, "open_text", "ranking", "content_block"})
SEGMENT_TYPES = CHOICES | SCALES
BlockStatistics = dict[str, Any]
EntryKey = tuple[int | None, int | None]  # an option's id, or a scale's point


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """Answer rows alike. `people` are those of whom this holds the first row: each answered block has one.

    Of the rows with a number, `numbers` of them: what they sum up to, exactly, the lowest and the highest.
    """

    option_id: int | None
    point: int | None
    rows: int
    people: int
    numbers: int = 0
    total: Decimal = Decimal(0)
    lowest: float | None = None
    highest: float | None = None


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
    among: Sequence[AnswerGroup] | None = None,
) -> BlockStatistics:
    """All figures of a block; null for what its type has not.

    `removed` are options that it had once. `among` are the groups of all answers where `groups` are those
    of some: then the entries are those of all, so that parts can be laid side by side.
    """
    all_groups = groups if among is None else among
    people = sum(group.people for group in groups)
    return {
        "response_count": people,
        "distribution": _distribution(entries(block, removed, all_groups), groups, people)
        if block.type in SEGMENT_TYPES
        else None,
        "stats": _stats(groups) if block.type in NUMBERS else None,
        "ranking": _ranking(_items(block, removed, all_groups), groups) if block.type == "ranking" else None,
        "nps": _nps(groups) if block.type == "nps" else None,
    }


def entries(
    block: Block, removed: Sequence[Option], groups: Iterable[AnswerGroup]
) -> list[DistributionEntry]:
    """The lines of a choice's or a scale's distribution, in order.

    Of a choice the options that were chosen, removed ones last; of a scale every declared point, low to
    high, and among them points that were answered before the scale was changed.
    """
    if block.type in CHOICES:
        chosen = {group.option_id for group in groups}
        return [entry for entry in map(_entry, (*block.options, *removed)) if entry.key[0] in chosen]
    return _points(block, removed, groups)


def segment_entries(
    block: Block, removed: Sequence[Option], groups: Iterable[AnswerGroup]
) -> list[DistributionEntry]:
    """The same, with the options that nobody chose: what answers to other blocks may be divided by."""
    if block.type not in CHOICES:
        return _points(block, removed, groups)
    chosen = {group.option_id for group in groups}
    was_chosen = [option for option in removed if option.id in chosen]
    return [_entry(option) for option in (*block.options, *was_chosen)]


def max_entries(block: Block, removed: Sequence[Option]) -> int:
    """The lines of a distribution or a ranking if every option was chosen; 1 where there is neither."""
    if block.type in SCALES:
        low, high = block.points
        return high - low + 1
    if block.type in CHOICES or block.type == "ranking":
        return max(len(block.options) + len(removed), 1)
    return 1


def percentage(part: int, whole: int) -> float:
    """0 to 100 with two decimals, halves rounded up; 0 of nothing."""
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


def _stats(groups: Iterable[AnswerGroup]) -> dict[str, object]:
    numeric = [group for group in groups if group.numbers]
    count = sum(group.numbers for group in numeric)
    total = sum((group.total for group in numeric), Decimal(0))
    lowest = [group.lowest for group in numeric if group.lowest is not None]
    highest = [group.highest for group in numeric if group.highest is not None]
    return {
        "count": count,
        "mean": float(total / count) if count else None,
        "min": _whole(min(lowest)) if lowest else None,
        "max": _whole(max(highest)) if highest else None,
    }


def _whole(number: float) -> float:
    """As an integer where it is one."""
    return int(number) if number == int(number) else number


def _items(block: Block, removed: Sequence[Option], groups: Iterable[AnswerGroup]) -> list[Option]:
    ranked = {group.option_id for group in groups}
    return [*block.options, *(option for option in removed if option.id in ranked)]


def _ranking(items: Iterable[Option], groups: Sequence[AnswerGroup]) -> list[dict[str, object]]:
    """Every item, also those that nobody ranked."""
    told = []
    for item in items:
        ranks = [group for group in groups if group.option_id == item.id and group.point is not None]
        count = sum(group.rows for group in ranks)
        told.append(
            {
                **_entry(item).as_json(),
                "average_rank": float(sum(group.total for group in ranks) / count) if count else None,
                "first_choice_count": sum(group.rows for group in ranks if group.point == 1),
                "ranked_count": count,
            }
        )
    return told


def _nps(groups: Iterable[AnswerGroup]) -> dict[str, object]:
    """The share of promoters (9 and 10) less that of detractors (0 to 6), in points, one decimal."""
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
    """Halves are rounded away from 0, so that a lead and a deficit of one size have one size."""
    size = (2_000 * abs(lead) + answered) // (2 * answered) / 10
    return -size if lead < 0 else size
