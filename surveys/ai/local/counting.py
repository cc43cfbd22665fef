"""Numbers in an intent: how many questions are wanted, and how many options."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_QUESTIONS = 100
MAX_OPTIONS = 25  # what the chat platform shows

_ONES = re.split(
    " ",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
)
_TENS = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_NUMBERS = {
    **{name: n for n, name in enumerate(_ONES)},
    **_TENS,
    "single": 1,
    "couple": 2,
    "dozen": 12,
    "hundred": 100,
}
_NAMED = "|".join(sorted(_NUMBERS, key=len, reverse=True))
# Atomic, so that `twenty-five` never falls apart into a range.
_NUMBER = (
    r"(?>(?<![\d.,])\d{1,4}(?![\d.,]*\d)|"
    rf"(?:{'|'.join(_TENS)})[- ](?:{'|'.join(_ONES[1:10])})|half a dozen|{_NAMED})"
)
# What may stand between a number and what it counts: two or three adjectives, nothing that is counted itself.
_ADJECTIVES = (
    r"(?:(?!(?:and|or|with|of|in|for|from|to|by|per|people|persons|players|members|users|teams|times|minutes?|"
    r"mins?|hours?|days?|weeks?|months?|years?|rounds?|points?|stars?|options?|answers?|choices|questions?|"
    rf"{_NAMED})\b)[^\W\d][\w'’-]*[\s-]+){{0,3}}?"
)
_COUNTED = (
    r"(?P<bound>\b(?:at least|more than|no more than|not more than|at most|up to|a maximum of|maximum|max\.?|"
    r"fewer than|less than|under|minimum|min\.?|a minimum of)\s+)?"
    rf"(?:\b(?P<low>{_NUMBER})(?:\s*[-–—]\s*|\s+(?:to|or|and)\s+))?"
    rf"\b(?P<number>{_NUMBER})(?:\s*[-–]\s*|\s+)(?:\(\d+\)\s*)?(?:of\s+)?"
)
_QUESTIONS = re.compile(rf"{_COUNTED}{_ADJECTIVES}(?:questions?|prompts|qs)\b", re.IGNORECASE)
_QUESTIONS_AFTER = re.compile(
    rf"\b(?:number of )?questions?\s*(?:[:=]|is|should be)\s*(?P<number>{_NUMBER})\b", re.IGNORECASE
)
_OPTIONS = re.compile(
    rf"{_COUNTED}{_ADJECTIVES}(?:options?|choices|answers|alternatives|possibilities)\b", re.IGNORECASE
)
_LEAST = ("at least", "minimum", "min", "a minimum of")


@dataclass(frozen=True, slots=True)
class Count:
    """How many are wanted: `low` to `high`, which are the same where a number is said outright."""

    low: int
    high: int

    def nearest(self, number: int) -> int:
        return min(max(number, self.low), self.high)


def questions(intent: str) -> Count | None:
    """How many questions an intent asks for; None where it does not say."""
    found = _QUESTIONS.search(intent) or _QUESTIONS_AFTER.search(intent)
    return None if found is None else _count(found, most=MAX_QUESTIONS)


def options(intent: str) -> Count | None:
    """How many options it asks for, at least two."""
    found = _OPTIONS.search(intent)
    count = None if found is None else _count(found, most=MAX_OPTIONS)
    return count and Count(max(count.low, 2), max(count.high, 2))


def without_counts(intent: str) -> str:
    """The intent with a full stop in place of whatever counts questions or options."""
    return _OPTIONS.sub(" . ", without_count_of_questions(intent))


def without_count_of_questions(intent: str) -> str:
    return _QUESTIONS_AFTER.sub(" . ", _QUESTIONS.sub(" . ", intent))


def _count(found: re.Match[str], *, most: int) -> Count | None:
    parts = found.groupdict()
    number = min(_value(parts["number"]), most)
    if number < 1:
        return None
    if parts.get("low"):
        low = min(max(_value(parts["low"]), 1), most)
        return Count(min(low, number), max(low, number))
    bound = (parts.get("bound") or "").strip().lower().rstrip(".")
    if bound in _LEAST:
        return Count(number, most)
    if bound == "more than":
        return Count(min(number + 1, most), most)
    if bound in ("fewer than", "less than", "under"):
        return Count(1, max(number - 1, 1))
    return Count(1, number) if bound else Count(number, number)


def _value(written: str) -> int:
    written = written.lower()
    if written.isdecimal():
        return int(written)
    if written == "half a dozen":
        return 6
    return sum(_NUMBERS[part] for part in re.split(r"[- ]", written))
