"""Divisions of responses into segments: in the counts of NumPy (`packed`) and in statements.

ReportedBlock       a choice, a scale or a ranking (its first choice), read from packed answers
Values              anything that the database computes of a conversation: fields, bands, times, themes
division(dividing)  the same in SQL
Places              the segments that values make, while conversations are counted
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from communities.ground.errors import refuse
from communities.ground.statements import Part
from surveys.engine.script import CHOICES, SCALES
from surveys.engine.statistics import DistributionEntry, EntryKey
from surveys.services.counting.answer_groups import ReportedBlock
from surveys.services.ground import metadata

NOT_GIVEN = "Not given"
BEGUN = 0  # The progress of a conversation without an answer.
Order = Literal["given", "frequent", "language", "day", "week", "month"]


@dataclass(frozen=True, slots=True)
class Division:
    """How SQL divides conversations `c`: `mark` is the part of `c` that names the segments, with its `values`
    as parameters, and `in_mark` makes rows of their names from a `mark`.
    """

    mark: str
    values: list[Any]
    in_mark: str


@dataclass(frozen=True, slots=True)
class Values:
    """A division of responses into segments by a value, at most `most`.

    `by` names it in requests, and `parameter` is the parameter that did. `mark` is a text of SQL for a
    conversation `c`, NULL for none; with `is_multiple` it is an array of texts. `entries` are segments even
    without responses; the one without a name stays last. With `is_open` other values are segments too, by
    `order`.
    """

    by: str
    title: str
    mark: Part = field(compare=False)
    most: int
    entries: tuple[DistributionEntry, ...] = ()
    is_open: bool = False
    is_multiple: bool = False
    order: Order = "given"
    block: ReportedBlock | None = field(default=None, compare=False)
    parameter: str = "segment_by"

    @property
    def field(self) -> str | None:
        """The name of the field, if it is one."""
        return self.by.removeprefix("field.") if self.by.startswith("field.") else None

    def segments(self, counts: Mapping[str, int]) -> dict[DistributionEntry, int]:
        """The segments in order, each with its number of responses, from the numbers by name."""
        listed = {name_of(each): each for each in self.entries}
        last = listed.pop("", None)
        if self.is_open:
            others = [name for name in counts if name and name not in listed]
            is_time = self.order in _PERIODS
            others.sort(key=(lambda name: (0, name)) if is_time else (lambda name: (-counts[name], name)))
            listed |= {name: DistributionEntry((None, name), name, self._label(name)) for name in others}
        elif self.order == "frequent":
            listed = dict(sorted(listed.items(), key=lambda item: -counts.get(item[0], 0)))
        every = [*listed.values(), *([last] if last else [])]
        return {each: counts.get(name_of(each), 0) for each in every}

    def _label(self, name: str) -> str | None:
        if self.order == "language":
            return metadata.language_name(name)
        return words_of_period(self.order, date.fromisoformat(name)) if self.order in _PERIODS else None


_PERIODS = {
    "day": lambda day: f"{day:%-d %B %Y}",
    "week": lambda day: f"Week of {day:%-d %B %Y}",
    "month": lambda day: f"{day:%B %Y}",
}
Dividing = ReportedBlock | Values | None


def words_of_period(period: str, day: date) -> str:
    """A day, a week or a month in words; `day` is its first day."""
    return _PERIODS[period](day)


def name_of(entry: DistributionEntry) -> str:
    """A segment's name in the counts: an option's id, a point, or a value."""
    option_id, point = entry.key
    return str(point if option_id is None else option_id)


def is_scale(by: ReportedBlock) -> bool:
    """Whether points divide responses, and not options."""
    return by.block.type in SCALES


def memberships(dividing: ReportedBlock | Values) -> int:
    """In how many segments a response can be at most, as far as the script shows."""
    if isinstance(dividing, Values):
        return len(dividing.entries) if dividing.is_multiple else 1
    block = dividing.block
    return len(block.options) + len(dividing.removed) if block.type == "multi_punch" else 1


def division(dividing: Dividing) -> Division | None:
    match dividing:
        case None:
            return None
        case Values():
            sql, values = dividing.mark
            names = "unnest(mark)" if dividing.is_multiple else "(SELECT mark WHERE mark IS NOT NULL)"
            return Division(sql, values, names)
        case ReportedBlock(block):
            kind = "scale" if is_scale(dividing) else "choice" if block.type in CHOICES else "ranking"
            return Division("c.state->'answers'->%s", [str(dividing.id)], _NAMES[kind])


_NAMES = {
    "choice": "jsonb_array_elements_text(mark->'option_ids')",
    "ranking": "(SELECT mark->'option_ids'->>0 WHERE mark->'option_ids'->>0 IS NOT NULL)",
    "scale": "(SELECT trim_scale((mark->>'number')::numeric)::text WHERE mark ? 'number')",
}


def refuse_too_many(dividing: Values, count: int) -> None:
    if count > dividing.most:
        refuse(
            dividing.parameter,
            "too_many",
            f"`{dividing.by}` divides these responses into more than {dividing.most:,} segments, "
            "which is the limit for this project. Filter the responses, or compare by less.",
        )


class Places:
    """The places of the segments that values make, the number of responses in each segment, and the sum of
    their weights.
    """

    def __init__(self, dividing: Values) -> None:
        self._dividing = dividing
        self._keys = {name_of(each): each.key for each in dividing.entries}
        self._places = {name: place for place, name in enumerate(self._keys)}
        self.sizes = dict.fromkeys(self._keys, 0)
        self.weights = dict.fromkeys(self._keys, 0)
        refuse_too_many(dividing, len(self.sizes))

    @property
    def most(self) -> int:
        return self._dividing.most if self._dividing.is_open else len(self._places)

    @property
    def keys(self) -> list[EntryKey]:
        """The keys of the segments, by place."""
        return [self._keys.get(name, (None, name)) for name in self._places]

    def add(
        self, names: Sequence[Any], progress: Sequence[int], weights: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """Add the names of the segments of some conversations. Returns the place of each segment with the
        index of its conversation.

        Conversations without an answer are in no segment. Refuses too many values.
        """
        places, of_conversation = list[int](), list[int]()
        is_multiple, is_open = self._dividing.is_multiple, self._dividing.is_open
        for n, (own, came) in enumerate(zip(names, progress, strict=True)):
            if came == BEGUN or own is None:
                continue
            for name in own if is_multiple else (own,):
                place = self._places.get(name)
                if place is None:
                    if not is_open:
                        continue
                    place = self._places[name] = len(self._places)
                self.sizes[name] = self.sizes.get(name, 0) + 1
                if weights:
                    self.weights[name] = self.weights.get(name, 0) + weights[n]
                places.append(place)
                of_conversation.append(n)
        refuse_too_many(self._dividing, len(self._places))
        return places, of_conversation
