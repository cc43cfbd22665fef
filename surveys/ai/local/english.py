"""Formatting of numbers, lists and quotations inside English sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MAX_QUOTED_PROMPT = 80  # A longer prompt, in characters, is quoted in part.
MAX_QUOTED_LABEL = 40
_QUOTATION_MARKS = str.maketrans({'"': "'", "“": "‘", "”": "’", "„": "‘", "«": "‹", "»": "›"})
_JOINERS = "\u200c\u200d"  # Control characters that join the parts of emojis, and letters in some scripts.
_DASHES = "-–—"


def quote(text: str, *, length: int = MAX_QUOTED_PROMPT) -> str:
    """Put a text in quotation marks, on one line, truncated.

    Quotation marks inside the text are replaced, so that the text cannot end the quotation.
    """
    return f"“{truncate(single_line(text).translate(_QUOTATION_MARKS), length=length)}”"


def single_line(text: str) -> str:
    """Remove line breaks, control characters and marks that change the direction of writing."""
    visible = (char if _is_visible(char) else " " for char in text)
    return " ".join("".join(visible).split())


def _is_visible(char: str) -> bool:
    return char in _JOINERS or not unicodedata.category(char).startswith("C")


def truncate(text: str, *, length: int) -> str:
    """Shorten to `length` characters with an ellipsis, between words if that drops less than a third."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    whole_words, space, _ = head.rpartition(" ")
    if space and len(whole_words) >= length * 2 // 3:
        head = whole_words
    return head.rstrip(f" ,;:({_DASHES}") + "…"


def format_percentage(value: float) -> str:
    """Return a percentage with at most one decimal: `28.6%`, `50%`."""
    return f"{format_number(value, decimals=1)}%"


def format_share(part: int, whole: int) -> str:
    """`part` of `whole` as a percentage; `0%` of nothing."""
    return format_percentage(100 * part / whole) if whole else "0%"


def format_number(value: float, *, decimals: int = 2) -> str:
    """Return a rounded number with thousands separators and without trailing zeros: `1,200`, `4.25`, `-3`."""
    digits = f"{value:,.{decimals}f}"
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def capitalize(sentence: str) -> str:
    """Make the first letter a capital, and leave the others as they are."""
    return sentence[:1].upper() + sentence[1:]
