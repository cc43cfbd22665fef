"""Counts and quotations in English sentences."""

from __future__ import annotations

from collections.abc import Sequence


def amount(count: float) -> str:
    """Format a count: `1,200`; a sum of weights with one decimal, or three digits if it is less than 1."""
    if isinstance(count, int):
        return f"{count:,}"
    return f"{count:,.1f}" if count >= 1 else f"{count:.3g}"


def plural(count: float, noun: str, nouns: str | None = None) -> str:
    """Return the count with its noun: `1 answer`, `1,200 answers`. `nouns` is an irregular plural."""
    return f"{amount(count)} {noun if count == 1 else nouns or f'{noun}s'}"


def shortened(text: str, most: int) -> str:
    """Return the text, or its beginning and an ellipsis if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def percent(percentage: float) -> str:
    """Format a percentage that stands alone, without decimals.

    Only an exact zero is 0%, and only an exact whole is 100%. `percents` formats the shares of one whole.
    """
    if 0 < percentage < 1:
        return "<1%"
    return ">99%" if 99 < percentage < 100 else f"{percentage:.0f}%"


def percents(counts: Sequence[float]) -> list[str]:
    """Format the shares of counts in their sum, without decimals, adding up to 100 (rule 6.56).

    Each share is rounded down, and the shares with the largest remainders get one more; of equal remainders,
    the first. Only an exact zero is 0%, and only an exact whole is 100%, as in `percent`.
    """
    total = sum(counts)
    if not total:
        return ["0%"] * len(counts)
    wholes = [int(100 * count // total) for count in counts]
    by_remainder = sorted(range(len(counts)), key=lambda n: -(100 * counts[n] % total))
    for n in by_remainder[: 100 - sum(wholes)]:
        wholes[n] += 1
    return [_whole_percent(count, total, whole) for count, whole in zip(counts, wholes, strict=True)]


def _whole_percent(count: float, total: float, whole: int) -> str:
    if count and not whole:
        return "<1%"
    return ">99%" if count < total and whole == 100 else f"{whole}%"
