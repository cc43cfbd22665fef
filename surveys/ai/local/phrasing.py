"""Numbers and other people's words as parts of an English sentence."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

PROMPT_LENGTH = 80  # characters
LABEL_LENGTH = 40
_QUOTES = str.maketrans({'"': "'", "“": "‘", "”": "’", "„": "‘", "«": "‹", "»": "›"})
_JOINERS = "\u200c\u200d"  # hold emojis and some scripts together
_DASHES = "-–—"


def quoted(text: str, *, length: int = PROMPT_LENGTH) -> str:
    """A text in quotation marks, on one line, shortened; whatever it holds, it cannot end the quotation."""
    return f"“{shortened(one_line(text).translate(_QUOTES), length=length)}”"


def one_line(text: str) -> str:
    """Without line breaks, control characters and marks that turn the direction of writing."""
    visible = (char if _is_visible(char) else " " for char in text)
    return " ".join("".join(visible).split())


def _is_visible(char: str) -> bool:
    return char in _JOINERS or not unicodedata.category(char).startswith("C")


def shortened(text: str, *, length: int) -> str:
    """At most `length` characters, cut between words where that loses less than a third."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    words, space, _ = cut.rpartition(" ")
    kept = words if space and len(words) >= length * 2 // 3 else cut
    return kept.rstrip(f" ,;:({_DASHES}") + "…"


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """`1 answer`, `1,200 answers`."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def percentage(value: float) -> str:
    """One decimal where it says something: `28.6%`, `50%`."""
    return f"{number(value, decimals=1)}%"


def share(part: int, whole: int) -> str:
    return percentage(100 * part / whole) if whole else "0%"


def number(value: float, *, decimals: int = 2) -> str:
    """Rounded, with thousands apart and no idle zeros: `1,200`, `4.25`, `-3`."""
    told = f"{value:,.{decimals}f}"
    if "." in told:
        told = told.rstrip("0").rstrip(".")
    return "0" if told == "-0" else told


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
