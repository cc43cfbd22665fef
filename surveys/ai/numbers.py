"""Finds the numbers in a sentence that agree with no figure.

    unfounded("41 % of 300 chose it", ["41.3 %", "120 of 300"])    []
    unfounded("nearly 50 %", ["41.3 %"])                           ["50"]
    unfounded("28 % chose it", ["28 of 60 (46.67 %)"])             ["28"]
    unfounded_words("Half chose it", ["28 of 60 (46.67 %)"])       ["half"]

Percentages are compared with percentages, and a number of people or answers with whole numbers. Any other
number is compared with all numbers but percentages. Percentages and averages may be rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from surveys.ai import number_words

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,'’\u00a0\u202f]\d+)*")
_GROUPS = re.compile(r"['’\u00a0\u202f]")
_PERCENT = re.compile(
    r"\s?(?:%|％|percent|per cent|prozent|pour ?cent|por ?ciento|por ?cento)", re.IGNORECASE
)
_KEY_OF_SHARE = re.compile(r'percentages?": ?$')  # The key before a percentage, in figures as JSON.
# In `41 and 22 %` and `41 to 45 %`, the first number may be a percentage, too.
_JOINED = re.compile(
    r"\s?(?:-|–|,|to|and|or|und|bis|oder|et|à|ou|y|a|o|e)\s?(?P<next>\d[\d.,]*)", re.IGNORECASE
)
_COUNTED = re.compile(rf"\s{number_words.COUNTED}", re.IGNORECASE)
_HALF = Decimal("0.5")


@dataclass(slots=True)
class _Known:
    """The numbers of figures: percentages, counts, and counts with averages."""

    shares: set[Decimal] = field(default_factory=set)
    counts: set[Decimal] = field(default_factory=set)
    others: set[Decimal] = field(default_factory=set)


def unfounded(text: str, figures: Iterable[str], averages: Iterable[str] = ()) -> list[str]:
    """Return the numbers of a text that no figure contains, even after rounding the figures. Signs are
    ignored.

    `averages` are figures that do not count people or answers.
    """
    known = _known(figures, averages)
    return [match[0] for match in _NUMBER.finditer(text) if not _is_founded(text, match, known)]


def unfounded_words(text: str, figures: Iterable[str]) -> list[str]:
    """Return the numbers and shares in words that no figure contains. Words that occur in the figures are
    accepted.
    """
    figures = list(figures)
    known = _known(figures, ())
    used = {each.words for figure in figures for each in number_words.found(figure)}
    others = (each for each in number_words.found(text) if each.words not in used)
    return [each.words for each in others if not _is_word_founded(text, each, known)]


def _is_word_founded(text: str, each: number_words.NumberInWords, known: _Known) -> bool:
    if each.share is not None:
        low, high = each.share
        return any(low <= share <= high for share in known.shares) or (high == 0 and high in known.counts)
    assert each.number is not None
    number = Decimal(each.number)
    if _PERCENT.match(text, each.end):
        return _is_rounded([number], known.shares)
    return number in known.counts


def _known(figures: Iterable[str], averages: Iterable[str]) -> _Known:
    known = _Known()
    _add(known, figures, known.counts)
    _add(known, averages, known.others)
    known.others |= known.counts
    return known


def _add(known: _Known, figures: Iterable[str], numbers: set[Decimal]) -> None:
    for figure in figures:
        for match in _NUMBER.finditer(figure):
            before = figure[max(0, match.start() - 20) : match.start()]
            is_share = _PERCENT.match(figure, match.end()) or _KEY_OF_SHARE.search(before)
            (known.shares if is_share else numbers).update(_readings(match[0]))


def _is_founded(text: str, match: re.Match[str], known: _Known) -> bool:
    readings = _readings(match[0])
    if _PERCENT.match(text, match.end()):
        return _is_rounded(readings, known.shares)
    if _COUNTED.match(text, match.end()):
        return any(number in known.counts for number in readings)
    joined = _JOINED.match(text, match.end())
    if joined and _PERCENT.match(text, joined.end()) and _is_rounded(readings, known.shares):
        return True
    return _is_rounded(readings, known.others)


def _is_rounded(readings: Iterable[Decimal], known: Iterable[Decimal]) -> bool:
    return any(
        abs(number - each) <= _HALF.scaleb(int(number.as_tuple().exponent))
        for number in readings
        for each in known
    )


def _readings(token: str) -> list[Decimal]:
    """The numbers that a token may be: `1,250` is 1250 in one country and 1.25 in another."""
    digits = _GROUPS.sub("", token)
    points = [char for char in digits if char in ".,"]
    whole = re.sub("[.,]", "", digits)
    if not points:
        return [Decimal(whole)]
    head, _, tail = digits.rpartition(points[-1])
    fraction = Decimal(f"{re.sub('[.,]', '', head)}.{tail}")
    if len(points) > 1:
        return [Decimal(whole) if len(set(points)) == 1 else fraction]
    return [Decimal(whole), fraction] if len(tail) == 3 else [fraction]
