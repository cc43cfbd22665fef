"""Reading of open answers: naming themes from a sample, and assigning answers to the themes of a codebook.

Everything happens in memory: nothing is sent, stored or logged. The same answers with the same themes give
the same reading every time, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

from surveys.ai.local.texts.answers import Answer, prepare
from surveys.ai.local.texts.discovery import discover_themes
from surveys.ai.local.texts.examples import Examples
from surveys.ai.local.texts.matching import Fit, fit_themes
from surveys.ai.local.texts.quotes import quote_around
from surveys.ai.local.texts.sentiment import LANGUAGES, sentiment_of
from surveys.ai.provider import Sentiment, TextBatch, TextExample, TextReading, TextSample, TextTheme


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
