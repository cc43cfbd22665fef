"""Numbers in sentences about figures: which of them no figure bears out.

    unfounded("41 % of 300 chose it", ["41.3", "120 of 300"])    []
    unfounded("nearly 50 %", ["41.3"])                           ["50"]

Only digits are read. A number in words, such as "half", is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,'’\u00a0\u202f]\d+)*")
_GROUPS = re.compile(r"['’\u00a0\u202f]")
_HALF = Decimal("0.5")


def unfounded(text: str, figures: Iterable[str]) -> list[str]:
    """The numbers of a text that no figure holds, not even before rounding. Signs do not count."""
    known = {number for figure in figures for token in _NUMBER.findall(figure) for number in _readings(token)}
    return [token for token in _NUMBER.findall(text) if not _is_founded(token, known)]


def _is_founded(token: str, known: Iterable[Decimal]) -> bool:
    return any(
        abs(number - each) <= _HALF.scaleb(int(number.as_tuple().exponent))
        for number in _readings(token)
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
