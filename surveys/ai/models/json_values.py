"""Strict reading of JSON that a model wrote: a value of the wrong type is refused and never converted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from surveys.ai.models.request import UnusableResponseError

MAX_TEXT = 10_000
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_END_OF_SENTENCE = re.compile(r"[.!?。！？]['\")\]»”’]*(?=\s|$)")

JsonObject = Mapping[str, Any]


def malformed() -> UnusableResponseError:
    """Return the error for a response that does not have the requested form."""
    return UnusableResponseError(
        "The AI model's answer does not have the required form.", outcome="misshaped"
    )


def parse_object(text: str) -> JsonObject:
    """Parse a text that must be one JSON object."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    # Also catches numbers with thousands of digits, and deeply nested lists.
    except (ValueError, RecursionError):
        raise malformed() from None
    return as_object(value)


def _refuse_constant(_constant: str) -> NoReturn:
    raise ValueError("JSON has no NaN and no Infinity.")


def as_object(value: object) -> JsonObject:
    """Return a JSON object as it is."""
    if not isinstance(value, Mapping):
        raise malformed()
    return value


def as_objects(value: object, *, most: int) -> list[JsonObject]:
    """Return a list of at most `most` JSON objects; an empty list for null."""
    return [as_object(item) for item in as_list(value, most=most)]


def as_list(value: object, *, most: int) -> list[object]:
    """Return a list of at most `most` values; an empty list for null."""
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > most:
        raise malformed()
    return value


def as_text(value: object) -> str:
    """Return a text without surrounding space; an empty text for null."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise malformed()
    return value.strip()


def as_flag(value: object) -> bool:
    """Return true or false; false for null."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise malformed()
    return value


def as_integer(value: object) -> int | None:
    """Return a whole number, which may be written as 5.0; None for null."""
    number = as_number(value)
    if isinstance(number, float):
        if not number.is_integer():
            raise malformed()
        return int(number)
    return number


def as_number(value: object) -> int | float | None:
    """Return a finite number; None for null."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise malformed()
    return value


def _is_finite(number: int | float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # An integer has more than 308 digits.
        return False


# --- Texts for people ---------------------------------------------------------------------------------


def as_line(value: object, *, most: int) -> str:
    """Return a text on one line, without characters that cannot be stored, truncated between words."""
    return truncate(" ".join(_UNWANTED.sub("", as_text(value)).split()), most=most)


def truncate(text: str, *, most: int) -> str:
    """Return the beginning of a text, cut at a space if there is one in its second half."""
    if len(text) <= most:
        return text
    head = text[:most]
    whole_words = head if text[most].isspace() else head.rpartition(" ")[0]
    return (whole_words if len(whole_words) > most // 2 else head).strip()


def as_sentences(value: object, *, most: int) -> str:
    """Return a text without characters that cannot be stored, cut after a whole sentence if possible."""
    text = _UNWANTED.sub("", as_text(value)).strip()
    if len(text) <= most:
        return text
    ends = [match.end() for match in _END_OF_SENTENCE.finditer(text) if match.end() <= most]
    return text[: ends[-1]].strip() if ends else truncate(text, most=most)
