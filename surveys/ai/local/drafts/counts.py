"""Numbers in an intent: how many questions are wanted, and how many options."""

from __future__ import annotations

import re
from dataclasses import dataclass

from surveys.engine.rules.option import CHAT_OPTIONS

MAX_QUESTIONS = 100

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
_NUMBER_WORDS = "|".join(sorted(_NUMBERS, key=len, reverse=True))
# An atomic group, so that `twenty-five` is never read as a range.
_NUMBER = (
    r"(?>(?<![\d.,])\d{1,4}(?![\d.,]*\d)|"
    rf"(?:{'|'.join(_TENS)})[- ](?:{'|'.join(_ONES[1:10])})|half a dozen|{_NUMBER_WORDS})"
)
# Up to three adjectives may precede the noun of a number, but no word that people count.
_ADJECTIVES = (
    r"(?:(?!(?:and|or|with|of|in|for|from|to|by|per|people|persons|players|members|users|teams|times|minutes?|"
    r"mins?|hours?|days?|weeks?|months?|years?|rounds?|points?|stars?|options?|answers?|choices|questions?|"
    rf"{_NUMBER_WORDS})\b)[^\W\d][\w'’-]{{0,40}}[\s-]{{1,3}}){{0,3}}?"
)
_COUNTED = (
    r"(?P<bound>\b(?:at least|more than|no more than|not more than|at most|up to|a maximum of|maximum|max\.?|"
    r"höchstens|maximal|nicht mehr als|bis zu|au plus|au maximum|jusqu['’]à|como máximo|máximo|hasta|"
    r"no máximo|até|"
    r"fewer than|less than|under|minimum|min\.?|a minimum of)\s{1,3})?"
    rf"(?:\b(?P<low>{_NUMBER})(?:\s{{0,3}}[-–—]\s{{0,3}}|\s{{1,3}}(?:to|or|and)\s{{1,3}}))?"
    rf"\b(?P<number>{_NUMBER})(?:\s{{0,3}}[-–]\s{{0,3}}|\s{{1,3}})(?:\(\d{{1,3}}\)\s{{0,3}})?(?:of\s{{1,3}})?"
)
_QUESTIONS = re.compile(
    rf"{_COUNTED}{_ADJECTIVES}(?:questions?|prompts|qs|multiple[ -]choice(?:\s{{1,3}}questions?)?"
    rf"(?!\s{{0,3}}(?:,|and|&|plus)\s{{0,3}}(?:an?\b|{_NUMBER})))\b"
    r"(?P<bounded>,?\s{1,3}(?:max\b\.?|maximum|maximal|at most|at the most|tops|or (?:less|fewer)|"
    r"oder weniger|"
    r"höchstens|au (?:maximum|plus)|(?:como |no )?máximo))?",
    re.IGNORECASE,
)
_QUESTIONS_AFTER = re.compile(
    rf"\b(?:number of )?questions?\s{{0,3}}(?:[:=]|is|should be)\s{{0,3}}(?P<number>{_NUMBER})\b",
    re.IGNORECASE,
)
_OPTIONS = re.compile(
    rf"{_COUNTED}{_ADJECTIVES}(?:options?|choices|answers|alternatives|possibilities)\b", re.IGNORECASE
)
_LOWER_BOUNDS = ("at least", "minimum", "min", "a minimum of")


@dataclass(frozen=True, slots=True)
class CountRange:
    """A range of numbers from `low` to `high`. An exact number has both equal."""

    low: int
    high: int

    def nearest(self, number: int) -> int:
        """The number in this range that is closest to the given one."""
        return min(max(number, self.low), self.high)


def question_count(intent: str) -> CountRange | None:
    """Return the number of questions that an intent wants; None if the intent does not say."""
    match = _QUESTIONS.search(intent) or _QUESTIONS_AFTER.search(intent)
    return None if match is None else _range_of(match, most=MAX_QUESTIONS)


def option_count(intent: str) -> CountRange | None:
    """Return the number of options that an intent wants, at least two; None if the intent does not say."""
    match = _OPTIONS.search(intent)
    count = None if match is None else _range_of(match, most=CHAT_OPTIONS)
    return count and CountRange(max(count.low, 2), max(count.high, 2))


def without_counts(intent: str) -> str:
    """The intent with a full stop in place of any number of questions or options."""
    return _OPTIONS.sub(" . ", without_question_count(intent))


def without_question_count(intent: str) -> str:
    """The intent with a full stop in place of any number of questions."""
    return _QUESTIONS_AFTER.sub(" . ", _QUESTIONS.sub(" . ", intent))


def _range_of(match: re.Match[str], *, most: int) -> CountRange | None:
    groups = match.groupdict()
    number = min(_value(groups["number"]), most)
    if number < 1:
        return None
    if groups.get("low"):
        low = min(max(_value(groups["low"]), 1), most)
        return CountRange(min(low, number), max(low, number))
    bound = (groups.get("bound") or "").strip().lower().rstrip(".")
    if bound in _LOWER_BOUNDS:
        return CountRange(number, most)
    if bound == "more than":
        return CountRange(min(number + 1, most), most)
    if bound in ("fewer than", "less than", "under"):
        return CountRange(1, max(number - 1, 1))
    return CountRange(1, number) if bound or groups.get("bounded") else CountRange(number, number)


def _value(numeral: str) -> int:
    numeral = numeral.lower()
    if numeral.isdecimal():
        return int(numeral)
    if numeral == "half a dozen":
        return 6
    return sum(_NUMBERS[part] for part in re.split(r"[- ]", numeral))
