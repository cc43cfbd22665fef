"""Counts and quotations in English sentences."""

from __future__ import annotations


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return the count with its noun: `1 answer`, `1,200 answers`. `nouns` is an irregular plural."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def shortened(text: str, most: int) -> str:
    """Return the text, or its beginning and an ellipsis if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
