"""The number of steps that a regular expression takes on texts that make it backtrack.

The matchers of `re` and `regex` do not count steps, so this module has a plain backtracking matcher. It
treats a bounded repetition as one of at most four, because the bound is its author's decision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from re import _compiler, _parser  # type: ignore[attr-defined]
from re._constants import (  # type: ignore[import-not-found]
    ANY,
    ASSERT,
    ASSERT_NOT,
    AT,
    ATOMIC_GROUP,
    BRANCH,
    IN,
    LITERAL,
    MAX_REPEAT,
    MAXREPEAT,
    MIN_REPEAT,
    NOT_LITERAL,
    POSSESSIVE_REPEAT,
    RANGE,
    SUBPATTERN,
)
from typing import Any

import regex

Item = tuple[Any, Any]  # of a parsed pattern
Items = Sequence[Item]
Then = Callable[[int], int | None]

ANCHORED = {"match", "fullmatch"}
_BOUND = 4
_FEW = 16  # repetitions
_MAX_STEPS = 50_000  # an exponential pattern would take for ever
_CHARACTERS = frozenset({LITERAL, NOT_LITERAL, ANY, IN})
_REPEATS = frozenset({MAX_REPEAT, MIN_REPEAT, POSSESSIVE_REPEAT})
_TAILS = ("", "\x00")
_USUAL = "a0_ \n.-é漢\u0301☀"
_MAX_SAMPLES = 12
# Replacements for operators that `re` lacks. A difference of sets becomes its first set.
_TRANSLATED = (
    (r"\(\?V1\)", ""),
    (r"--(?:\[[^\]]*\]|\\p\{\w+\}|\\s)", ""),
    (r"\[\[([^\]]*)\]", r"[\1"),
    (r"\\p\{M\}", "\u0300-\u036f"),
    (r"\\p\{[CZ]\w*\}", r"\\s"),
    (r"\\p\{(?:So|Extended_Pictographic)\}", "☀"),
    (r"\\p\{\w+\}", r"\\w"),
    (r"\\X", "."),
)


class Stepped:
    """A pattern whose steps can be counted."""

    def __init__(self, pattern: re.Pattern[Any] | regex.Pattern[Any]) -> None:
        text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        flags = pattern.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE)
        if isinstance(pattern, regex.Pattern):
            for theirs, ours in _TRANSLATED:
                text = re.sub(theirs, ours, text)
        self._tree = _parser.parse(text, flags)
        self._compiled: dict[tuple[Any, int], re.Pattern[str]] = {}
        self._accepted: dict[tuple[Any, int, str], bool] = {}

    def slow_text(self, method: str) -> str | None:
        """A text whose doubling takes far more than twice the steps; None if there is none.

        The steps are counted for `match`, for `fullmatch`, or for finding every match.
        """
        for before, repeated, after in dict.fromkeys(self._pumps()):
            many = self._steps_on(before + repeated * 2 * _FEW + after, method)
            allowed = _FEW * _FEW * len(repeated) / 4
            if many <= allowed:
                continue
            few = self._steps_on(before + repeated * _FEW + after, method)
            if many > min(2 * few + allowed, _MAX_STEPS):
                return f"{before!r}, then {repeated!r} many times, then {after!r}"
        return None

    def _steps_on(self, text: str, method: str) -> int:
        self._text, self._steps = text, 0
        start = 0
        while start <= len(text) and self._steps <= _MAX_STEPS:
            end = self._match(self._tree.data, 0, start, self._whole if method == "fullmatch" else _end)
            if method in ANCHORED:
                break
            start = start + 1 if end is None or end == start else end
        return self._steps

    def _whole(self, at: int) -> int | None:
        return at if at == len(self._text) else None

    def _pumps(self) -> Iterator[tuple[str, str, str]]:
        """Beginnings, repeated parts and ends of texts, for each unbounded repetition."""
        if not _is_unbounded(self._tree.data):
            return
        for before, body in self._unbounded(self._tree.data, ""):
            for part in filter(None, self._samples(body)):
                for start, repeated in ((before, part), ("", part), ("", before + part)):
                    for tail in _TAILS:
                        yield start, repeated, tail

    # --- Matching ---------------------------------------------------------------------------------

    def _match(self, items: Items, place: int, at: int, then: Then) -> int | None:
        if place == len(items):
            return then(at)
        if self._steps > _MAX_STEPS:
            return at  # count as a match, so the matcher tries no other way
        op, value = items[place]
        rest = partial(self._match, items, place + 1, then=then)
        self._steps += 1
        if op in _CHARACTERS:
            return rest(at=at + 1) if self._is_at(items[place], at) else None
        if op in _REPEATS:
            least, most, body = value
            return self._repeat(op, least, most, body, at, lambda end: rest(at=end))
        if op is BRANCH:
            ends = (self._match(branch.data, 0, at, lambda end: rest(at=end)) for branch in value[1])
            return next((end for end in ends if end is not None), None)
        if op is SUBPATTERN:
            return self._match(value[-1].data, 0, at, lambda end: rest(at=end))
        if op is ATOMIC_GROUP:
            end = self._match(value.data, 0, at, _end)
            return None if end is None else rest(at=end)
        if op in (ASSERT, ASSERT_NOT) and value[0] > 0:
            is_there = self._match(value[1].data, 0, at, _end) is not None
        else:
            assert op in (AT, ASSERT, ASSERT_NOT), op
            is_there = self._pattern(items[place]).match(self._text, at) is not None
            return rest(at=at) if is_there else None
        return rest(at=at) if is_there is (op is ASSERT) else None

    def _repeat(self, op: Any, least: int, most: int, body: Any, at: int, rest: Then) -> int | None:
        least = min(least, _BOUND)
        most = len(self._text) + 1 if most is MAXREPEAT else min(most, _BOUND)
        if op is POSSESSIVE_REPEAT:
            ends = [at]
            while len(ends) <= most and (end := self._match(body.data, 0, ends[-1], _end)) is not None:
                if end == ends[-1]:
                    break
                ends.append(end)
            return rest(ends[-1]) if len(ends) > least else None
        if len(body.data) == 1 and body.data[0][0] in _CHARACTERS:
            return self._repeat_class(op, least, most, body.data[0], at, rest)
        return self._again(op, least, most, body.data, at, rest, count=0)

    def _repeat_class(self, op: Any, least: int, most: int, item: Item, at: int, rest: Then) -> int | None:
        count = self._run(item, at, least if op is MIN_REPEAT else most)
        while count >= least:
            if (end := rest(at + count)) is not None:
                return end
            if op is MAX_REPEAT:
                count -= 1
            elif count < most and self._run(item, at + count, 1):
                count += 1
            else:
                break
        return None

    def _again(
        self, op: Any, least: int, most: int, body: Items, at: int, rest: Then, *, count: int
    ) -> int | None:
        def once_more() -> int | None:
            def then(end: int) -> int | None:
                is_nothing = end == at and count >= least
                return None if is_nothing else self._again(op, least, most, body, end, rest, count=count + 1)

            return self._match(body, 0, at, then) if count < most else None

        def no_more() -> int | None:
            return rest(at) if count >= least else None

        for go_on in (no_more, once_more) if op is MIN_REPEAT else (once_more, no_more):
            if (end := go_on()) is not None:
                return end
        return None

    def _run(self, item: Item, at: int, most: int) -> int:
        count = 0
        while count < most and self._is_at(item, at + count):
            count += 1
            self._steps += 1
        return count

    def _is_at(self, item: Item, at: int) -> bool:
        return at < len(self._text) and self._accepts(item, self._text[at])

    def _accepts(self, item: Item, character: str) -> bool:
        key = (item[0], id(item[1]), character)
        if key not in self._accepted:
            self._accepted[key] = self._pattern(item).match(character) is not None
        return self._accepted[key]

    def _pattern(self, item: Item) -> re.Pattern[str]:
        key = (item[0], id(item[1]))
        if key not in self._compiled:
            self._compiled[key] = _compiler.compile(_parser.SubPattern(self._tree.state, [item]))
        return self._compiled[key]

    # --- Texts ------------------------------------------------------------------------------------

    def _unbounded(self, items: Items, before: str) -> Iterator[tuple[str, Items]]:
        """The repeated items of each unbounded repetition, with a text that leads to the repetition."""
        for op, value in items:
            if op in _REPEATS and value[1] is MAXREPEAT:
                yield before, value[2].data
            for part in _parts(op, value):
                yield from self._unbounded(part, before)
            before += self._samples([(op, value)])[0]

    def _samples(self, items: Items) -> list[str]:
        """Short texts that items match: first a text with each item's first sample, then other texts."""
        by_item = [self._samples_of(*item) for item in items]
        first = [samples[0] for samples in by_item]
        others = [
            "".join([*first[:place], sample, *first[place + 1 :]])
            for place, samples in enumerate(by_item)
            for sample in samples[1:]
        ]
        return ["".join(first), *others][:_MAX_SAMPLES]

    def _samples_of(self, op: Any, value: Any) -> list[str]:
        if op is LITERAL:
            return [chr(value)]
        if op in _CHARACTERS:
            return [each for each in self._alphabet if self._accepts((op, value), each)] or ["\x01"]
        if op in _REPEATS:
            return [sample * min(max(value[0], 1), _BOUND) for sample in self._samples(value[2].data)]
        if op in (AT, ASSERT, ASSERT_NOT):
            return [""]
        samples = [self._samples(part) for part in _parts(op, value)]
        return [sample for each in samples for sample in each[:2]] if samples else [""]

    @cached_property
    def _alphabet(self) -> str:
        """One character for each set of classes of the pattern that accept the same characters."""
        classes = list(_classes(self._tree.data))
        named = [
            chr(code)
            for op, value in classes
            for each, code_or_range in (value if op is IN else [(op, value)])
            if each in (LITERAL, RANGE)
            for code in (code_or_range if each is RANGE else (code_or_range,))
        ]
        kinds = {tuple(self._accepts(item, each) for item in classes): each for each in (*named, *_USUAL)}
        return "".join(kinds.values())


def _end(at: int) -> int:
    return at


def _parts(op: Any, value: Any) -> list[Items]:
    """The items inside an item."""
    if op in _REPEATS:
        return [value[2].data]
    if op is BRANCH:
        return [branch.data for branch in value[1]]
    if op is SUBPATTERN:
        return [value[-1].data]
    if op is ATOMIC_GROUP:
        return [value.data]
    return [value[1].data] if op in (ASSERT, ASSERT_NOT) else []


def _is_unbounded(items: Items) -> bool:
    """Whether an item repeats without an end."""
    return any(
        (op in _REPEATS and value[1] is MAXREPEAT) or any(map(_is_unbounded, _parts(op, value)))
        for op, value in items
    )


def _classes(items: Items) -> Iterator[Item]:
    for op, value in items:
        if op in _CHARACTERS:
            yield op, value
        for part in _parts(op, value):
            yield from _classes(part)
