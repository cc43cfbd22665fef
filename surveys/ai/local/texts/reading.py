"""Reading of open answers: naming themes from a sample, and assigning answers to the themes of a codebook.

Everything happens in memory: nothing is sent, stored or logged. The same answers with the same themes give
the same reading every time, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import regex

from surveys.ai.local.texts.answers import Answer, Span, prepare
from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, plain
from surveys.ai.local.texts.discovery import discover_themes
from surveys.ai.local.texts.matching import Fit, fit_themes
from surveys.ai.local.texts.sentiment import LANGUAGES, sentiment_of
from surveys.ai.local.texts.threads import use_one_thread
from surveys.ai.provider import (
    MAX_QUOTE,
    Sentiment,
    TextBatch,
    TextExample,
    TextReading,
    TextSample,
    TextTheme,
)
from surveys.ai.quotes import is_quotable

_SENTENCE = regex.compile(r"[^.!?…\n\r。！？]+(?:[.!?…]+(?=\s|$)|[。！？]+|[.!?…]+(?=\S)[^.!?…\s]*)*")
_SPACE = regex.compile(r"\s")


_MIN_LIKENESS = 0.7
_AT_ONCE = 512  # This number limits the memory of a comparison.


class Examples:
    """Examples, prepared for comparison with many answers."""

    def __init__(self, examples: Sequence[TextExample]) -> None:
        self._examples = [each for each in examples if plain(each.text).strip()]
        self._vectorizer: Any = None
        if self._examples:
            from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - takes more than a second

            self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False)
            self._vectors = self._vectorizer.fit_transform(
                [_comparable(each.text) for each in self._examples]
            )

    def nearest(self, texts: Sequence[str]) -> list[TextExample | None]:
        """Return the most similar example for each text; None for a text without a similar example."""
        if not self._examples:
            return [None] * len(texts)
        use_one_thread()
        nearest: list[TextExample | None] = []
        for start in range(0, len(texts), _AT_ONCE):
            part = [_comparable(text) for text in texts[start : start + _AT_ONCE]]
            likeness = (self._vectorizer.transform(part) @ self._vectors.T).toarray()
            nearest += [
                self._examples[best] if most >= _MIN_LIKENESS else None
                for best, most in zip(likeness.argmax(axis=1), likeness.max(axis=1), strict=True)
            ]
        return nearest


def _comparable(text: str) -> str:
    return plain(text[:MAX_READ_LENGTH])


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


def name_themes(sample: TextSample) -> list[TextTheme]:
    """Name the themes that several answers of a sample share and that the known themes do not cover."""
    return discover_themes(
        prepare(sample.answers, prompt=sample.prompt, locale=sample.locale),
        prompt=sample.prompt,
        known=sample.known_themes,
        limit=sample.max_new_themes,
        locale=sample.locale,
    )


def assign_themes(batch: TextBatch) -> list[TextReading]:
    """Assign each answer to the themes that it mentions. An answer like an example gets the reading that
    staff gave the example.
    """
    answers = prepare(batch.answers, prompt=batch.prompt, locale=batch.locale)
    fits = fit_themes(answers, batch.themes, prompt=batch.prompt)
    examples = Examples(batch.examples).nearest(batch.answers)
    return [
        _read(answer, found, example=example, theme_count=len(batch.themes))
        for answer, found, example in zip(answers, fits, examples, strict=True)
    ]


def _read(
    answer: Answer, found: Sequence[tuple[int, Fit]], *, example: TextExample | None, theme_count: int
) -> TextReading:
    places = [fit.place_in(answer) for _, fit in found]
    themes = [theme for theme, _ in found]
    sentiment = _sentiment_of(answer)
    if example is not None:
        themes = [theme for theme in dict.fromkeys(example.themes) if 0 <= theme < theme_count]
        places = places or list(answer.clauses)
        sentiment = example.sentiment or sentiment
    quotes = (quote_around(answer.text, place) for place in places if themes)
    return TextReading(tuple(themes), sentiment, next((quote for quote in quotes if quote), None))


def _sentiment_of(answer: Answer) -> Sentiment | None:
    """Return the sentiment; None for an answer without an opinion, and for a language whose sentiment we
    cannot judge.
    """
    if answer.is_silent or (answer.languages and answer.language not in LANGUAGES):
        return None
    return sentiment_of(answer.text, answer.language)
