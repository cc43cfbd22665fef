"""A short part of an answer, verbatim."""

from __future__ import annotations

import regex

from surveys.ai.local.tokens import has_address

QUOTE_LENGTH = 200  # characters
_SENTENCE = regex.compile(r"[^.!?…\n\r。！？]+(?:[.!?…]+(?=\s|$)|[。！？]+|[.!?…]+(?=\S)[^.!?…\s]*)*")
_SPACE = regex.compile(r"\s")


def quote(answer: str, place: tuple[int, int]) -> str | None:
    """The sentence that holds a place, or as much of it as may be told; None where that names an address."""
    start, end = _sentence(answer, place)
    part = _shortened(answer[start:end], (place[0] - start, place[1] - start))
    return None if has_address(part) else part


def _sentence(answer: str, place: tuple[int, int]) -> tuple[int, int]:
    for found in _SENTENCE.finditer(answer):
        if found.start() <= place[0] < found.end():
            return found.start(), max(found.end(), place[1])
    return place


def _shortened(sentence: str, place: tuple[int, int]) -> str:
    """At most QUOTE_LENGTH characters around a place, from space to space."""
    if len(sentence.strip()) <= QUOTE_LENGTH:
        return sentence.strip()
    start = max(0, min(place[0] - QUOTE_LENGTH // 3, len(sentence) - QUOTE_LENGTH))
    end = start + QUOTE_LENGTH
    if start and (space := _SPACE.search(sentence, start, place[0])):
        start = space.end()
    cut = sentence[start:end]
    if end < len(sentence):
        spaces = [found.start() for found in _SPACE.finditer(cut, place[1] - start)]
        cut = cut[: spaces[-1]] if spaces else cut
    return cut.strip()
