"""Reading JSON that a model wrote: what is of another kind than it should be is refused, not mended."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from surveys.ai.claude.question import Unusable

MAX_TEXT = 10_000
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_END_OF_SENTENCE = re.compile(r"[.!?。！？]['\")\]»”’]*(?=\s|$)")

Part = Mapping[str, Any]


def misshaped() -> Unusable:
    return Unusable("The AI model's answer was not of the form that it was asked for.", outcome="misshaped")


def parsed(text: str) -> Part:
    """The JSON object that a text is."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (
        ValueError,
        RecursionError,
    ):  # also of numbers with thousands of digits, and lists in lists in lists
        raise misshaped() from None
    return part(value)


def _refuse(_constant: str) -> NoReturn:
    raise ValueError("No number of JSON.")


def part(value: object) -> Part:
    if not isinstance(value, Mapping):
        raise misshaped()
    return value


def parts(value: object, *, most: int) -> list[Part]:
    """A list of objects; none where it is left out."""
    return [part(each) for each in items(value, most=most)]


def items(value: object, *, most: int) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > most:
        raise misshaped()
    return value


def text(value: object) -> str:
    """A text, without the space around it; empty where it is left out."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise misshaped()
    return value.strip()


def flag(value: object) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise misshaped()
    return value


def whole(value: object) -> int | None:
    """A whole number, also where it was written as 5.0."""
    found = number(value)
    if isinstance(found, float):
        if not found.is_integer():
            raise misshaped()
        return int(found)
    return found


def number(value: object) -> int | float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise misshaped()
    return value


def _is_finite(number: int | float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # of a whole number with more than 308 digits
        return False


# --- Texts of its own ---------------------------------------------------------------------------------


def line(value: object, *, most: int) -> str:
    """A text on one line that can be stored, cut between words where it is too long."""
    return cut(" ".join(_UNWANTED.sub("", text(value)).split()), most=most)


def cut(text: str, *, most: int) -> str:
    """So much of a text's beginning, up to a space where there is one near the end."""
    if len(text) <= most:
        return text
    head = text[:most]
    shorter = head.rpartition(" ")[0] if not text[most].isspace() else head
    return (shorter if len(shorter) > most // 2 else head).strip()


def sentences(value: object, *, most: int) -> str:
    """A text of whole sentences, as many as there is room for."""
    told = _UNWANTED.sub("", text(value)).strip()
    if len(told) <= most:
        return told
    ends = [found.end() for found in _END_OF_SENTENCE.finditer(told) if found.end() <= most]
    return told[: ends[-1]].strip() if ends else cut(told, most=most)
