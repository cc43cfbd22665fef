"""The findings in the answers to an open question, and checks of a provider's results (rules 10.13 to 10.15).

An AI provider names themes and assigns answers to themes. Counts are computed from the rows of `readings`.
Everything that the provider returns is checked against the answers: unknown themes, unknown sentiments and
quotes that occur in no answer are dropped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Self

import orjson

from communities.ground import wire
from surveys.ai.numbers import unfounded
from surveys.ai.provider import (
    MAX_QUOTE,
    MAX_THEME_DESCRIPTION,
    MAX_THEME_TITLE,
    AnalysisOverview,
    ProviderError,
    TextFigures,
    TextTheme,
)
from surveys.ai.quotes import is_quotable
from surveys.services.ai_work import codebook, readings
from surveys.services.counting import themes
from surveys.services.counting.themes import ThemeCounts
from surveys.services.ground import anonymity

MAX_QUOTES = 3
MAX_LIKENESS = 0.7  # Two quotes of a theme may share at most this part of their words.
MAX_SUMMARY = 2_000
WRITTEN_BY_US = "The application wrote this summary, because the AI model could not."


@dataclass(frozen=True, slots=True)
class FoundThemes:
    """The themes of a question with their counts, and how many people have answered it."""

    block_id: int
    covers: str
    answer_count: int
    counts: ThemeCounts

    @classmethod
    def of(cls, *, block_id: int, covers: str) -> Self:
        """Count the rows as they are now."""
        answer_count = readings.count_answers(block_id=block_id, covers=covers)
        return cls(block_id, covers, answer_count, themes.count(block_id, covers=covers))

    def report(self, summary: str | None, *, least: int | None) -> dict[str, Any]:
        """The `open_text` of an AnalysisBlock (rules 10.10 to 10.12).

        `least` is from `anonymity.least_answers`. If `least` is a number, nobody is quoted where fewer people
        have answered, or where only one person mentions the theme.
        """
        ranked = self.counts.ranked
        quoted = [
            theme_id
            for theme_id, counted in ranked
            if anonymity.is_enough(self.answer_count, least=least) and (counted.count > 1 or least is None)
        ]
        quotes = readings.quotes(block_id=self.block_id, covers=self.covers, themes=quoted) if quoted else {}
        told: set[str] = set()
        report = self.counts.as_json(answer_count=self.answer_count)
        for (theme_id, _), theme in zip(ranked, report["themes"], strict=True):
            theme["quotes"] = _different(quotes.get(theme_id, ()), told)
        return {**report, "summary": summary or None}


def _different(quotes: Sequence[str], told: set[str]) -> list[str]:
    """Return at most MAX_QUOTES quotes that differ in their words, also from the quotes in `told`."""
    chosen: list[str] = []
    words: list[frozenset[str]] = []
    for quote in quotes:
        own = frozenset(quote.casefold().split())
        is_like = any(len(own & other) > MAX_LIKENESS * min(len(own), len(other)) for other in words)
        if quote not in told and not is_like and len(chosen) < MAX_QUOTES:
            chosen.append(quote)
            words.append(own)
            told.add(quote)
    return chosen


def cleaned(named: Sequence[TextTheme]) -> list[TextTheme]:
    """Themes that a provider has named, with texts on one line. Themes without a title are left out."""
    clean = (
        TextTheme(
            codebook.one_line(clean_text(theme.title, MAX_THEME_TITLE)),
            clean_text(theme.description, MAX_THEME_DESCRIPTION),
            tuple(filter(None, (clean_text(phrase, codebook.MAX_PHRASE) for phrase in theme.phrases))),
        )
        for theme in named
    )
    return [theme for theme in clean if theme.title]


# --- Texts of a provider ----------------------------------------------------------------------------

_UNPRINTABLE = {"Cc", "Cs"}  # control characters and lone surrogates


def clean_text(text: object, longest: int) -> str:
    """A provider's text on one line, without unprintable characters, cut to `longest` characters."""
    if not isinstance(text, str):
        return ""
    characters = "".join(" " if unicodedata.category(each) in _UNPRINTABLE else each for each in text)
    return " ".join(characters.split())[:longest].strip()


def figures_of(given: AnalysisOverview | TextFigures) -> list[str]:
    """All figures from which a summary may take numbers, as one text without ids."""
    fields = orjson.loads(wire.render(asdict(given)))
    blocks = fields.get("blocks", ())
    for block in blocks:
        for name in ("block_id", "position"):
            block.pop(name, None)
        for entry in block.get("distribution") or ():
            entry.pop("option_id", None)
    return [wire.render(fields).decode(), str(len(blocks))]


def well_founded(write: Callable[[], str], figures: Sequence[str], *, otherwise: Callable[[], str]) -> str:
    """Return a text whose numbers all occur in the figures. The provider gets two tries; then the application
    writes the text.

    The application also writes the text if the provider fails, because the answers have been read and paid by
    then.
    """
    with suppress(ProviderError):
        for _ in range(2):
            text = write()
            if not unfounded(text, figures):
                return text
    return f"{otherwise()} {WRITTEN_BY_US}"


def verbatim_quote(quote: object, text: str) -> str | None:
    """A quote that is a verbatim part of this answer, cut to the longest length; None for any other text.

    A quote that identifies a person, for example by a name or an address, gives None, too.
    """
    if not isinstance(quote, str):
        return None
    quote = quote.strip()
    if not quote or quote not in text or not is_quotable(quote):
        return None
    if len(quote) <= MAX_QUOTE:
        return quote
    cut = quote[: MAX_QUOTE + 1]
    at_word = cut.rsplit(None, 1)[0] if any(each.isspace() for each in cut) else ""
    return (at_word or quote[:MAX_QUOTE])[:MAX_QUOTE].strip()
