"""Verbatim quotes: a short part of an answer."""

from __future__ import annotations

import regex

from surveys.ai.local.texts.answers import Span
from surveys.ai.provider import MAX_QUOTE
from surveys.ai.quotes import is_quotable

_SENTENCE = regex.compile(r"[^.!?…\n\r。！？]+(?:[.!?…]+(?=\s|$)|[。！？]+|[.!?…]+(?=\S)[^.!?…\s]*)*")
_SPACE = regex.compile(r"\s")


def quote_around(answer: str, span: Span) -> str | None:
    """Return the sentence that contains a span, or the part of it around the span if the sentence is long.

    Returns None if that part may not be shown.
    """
    start, end = _sentence_around(answer, span)
    part = _cut_around(answer[start:end], (max(span[0] - start, 0), min(span[1], end) - start))
    return part if part and is_quotable(part) else None


def _sentence_around(answer: str, span: Span) -> Span:
    for match in _SENTENCE.finditer(answer):
        if match.start() <= span[0] < match.end():
            return match.start(), max(match.end(), span[1])
    return span


def _cut_around(sentence: str, span: Span) -> str:
    """Return at most MAX_QUOTE characters around a span, cut at spaces."""
    if len(sentence.strip()) <= MAX_QUOTE:
        return sentence.strip()
    start = max(0, min(span[0] - MAX_QUOTE // 3, len(sentence) - MAX_QUOTE))
    end = start + MAX_QUOTE
    if start and (space := _SPACE.search(sentence, start, span[0])):
        start = space.end()
    part = sentence[start:end]
    if end < len(sentence):
        spaces = [match.start() for match in _SPACE.finditer(part, span[1] - start)]
        part = part[: spaces[-1]] if spaces else part
    return part.strip()
