"""The values that the answers to one block can have, as far as its comparisons need them.

Values for comparisons are prepared once for the block, because a script may compare the block to a hundred
thousand values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from communities.ground.cached import cached_property
from surveys.engine.language import expressions, values
from surveys.engine.language.values import Value
from surveys.engine.script import SCALES, Block, Option

_PART_OF_NUMBER = re.compile(r"[-.0-9]*").fullmatch
_PART_OF_DATE = re.compile(r"[-0-9]*").fullmatch
_BETWEEN = "\0"  # a character that no text of a script contains
_VAST = Decimal("1e1000")  # more than any answer


@dataclass(frozen=True, eq=False)
class ListedValues:
    """The values that answers to a block can have: of a choice, a ranking or a scale."""

    block: Block

    @property
    def name(self) -> str:
        return self.block.name or ""

    @property
    def are_lists(self) -> bool:
        return self.block.type in ("multi_punch", "ranking")

    @cached_property
    def texts(self) -> tuple[str, ...]:
        if self.block.type not in SCALES:
            return tuple(option.value for option in self.block.options)
        low, high = self.block.points
        return tuple(map(str, range(low, high + 1)))

    @cached_property
    def numbers(self) -> tuple[Decimal, ...]:
        """The values that orderings can compare; a list never is a number."""
        if self.are_lists:
            return ()
        return tuple(number for text in self.texts if (number := values.number(text)) is not None)

    @cached_property
    def _known(self) -> frozenset[str | Decimal]:
        return frozenset(map(_key, self.texts))

    def has(self, value: Value) -> bool:
        return _key(value) in self._known

    def has_part(self, part: str) -> bool:
        return _BETWEEN not in part and part in self._joined

    @cached_property
    def _joined(self) -> str:
        """All texts joined, because one search is faster than a search in each."""
        return _BETWEEN.join(self.texts)

    def has_within(self, whole: str) -> bool:
        return any(text in whole for text in self.texts)

    def can_satisfy(self, sign: str, number: Decimal, others: Collection[Decimal]) -> bool:
        """Whether an answer, or one of `others`, satisfies this comparison to the number."""
        numbers = [*others, *self.extremes]
        return any(expressions.COMPARISONS[sign](each, number) for each in numbers)

    @cached_property
    def extremes(self) -> tuple[Decimal, ...]:
        """The least and the greatest number; empty if there is none."""
        return (min(self.numbers), max(self.numbers)) if self.numbers else ()

    def meant(self, value: Value) -> Option | None:
        """The option that the author probably meant: its label equals the value, or its value differs only in
        case.
        """
        return self._by_spelling.get(_spelling(values.text(value)))

    @cached_property
    def _by_spelling(self) -> Mapping[str, Option]:
        """The options by labels and values in lower case.

        The first option wins, and labels win over values.
        """
        spelled = [(option.label or "", option) for option in self.block.options]
        spelled += [(option.value, option) for option in self.block.options]
        return {_spelling(text): option for text, option in reversed(spelled)}


@dataclass(frozen=True)
class NumberValues:
    """The values of a question about a number, within its range, or of a score variable."""

    name: str
    least: int | None = None
    most: int | None = None
    are_whole: bool = False

    are_lists = False

    def has(self, value: Value) -> bool:
        if isinstance(value, tuple):  # a list with one element equals the element
            return len(value) == 1 and self.has(value[0])
        number = values.number(value)
        if number is None or (self.are_whole and number != number.to_integral_value()):
            return False
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    def has_part(self, part: str) -> bool:
        return _PART_OF_NUMBER(part) is not None

    def has_within(self, whole: str) -> bool:
        return any(each in whole for each in "0123456789")

    def can_satisfy(self, sign: str, number: Decimal, others: Collection[Decimal]) -> bool:
        least = -_VAST if self.least is None else Decimal(self.least)
        most = _VAST if self.most is None else Decimal(self.most)
        return any(expressions.COMPARISONS[sign](each, number) for each in (*others, least, most))

    @property
    def range(self) -> str:
        """The range of these numbers in words; empty if there is no limit."""
        if self.least is not None and self.most is not None:
            return f"{self.least} to {self.most}"
        if self.least is not None:
            return f"at least {self.least}"
        return "" if self.most is None else f"at most {self.most}"


@dataclass(frozen=True)
class DateValues:
    """The values of a question about a date."""

    name: str

    are_lists = False

    def has(self, value: Value) -> bool:
        if isinstance(value, tuple):  # a list with one element equals the element
            return len(value) == 1 and self.has(value[0])
        return values.is_date(values.text(value))

    def has_part(self, part: str) -> bool:
        return _PART_OF_DATE(part) is not None

    def has_within(self, whole: str) -> bool:
        return len(whole) >= len("2026-01-31")

    def can_satisfy(self, sign: str, number: Decimal, others: Collection[Decimal]) -> bool:
        return any(expressions.COMPARISONS[sign](each, number) for each in others)


def _spelling(text: str) -> str:
    return text.strip().casefold()


def _key(value: Value) -> str | Decimal:
    """A key that is equal for two values that compare as equal."""
    number = values.number(value)
    return values.text(value) if number is None else number


AnswerValues: TypeAlias = ListedValues | NumberValues | DateValues
