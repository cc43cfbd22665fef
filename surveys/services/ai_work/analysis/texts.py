"""What was found in the answers to an open question, and checks of what a provider returns (10.13 to 10.15).

An AI provider names themes and assigns answers to them; counts are computed from the rows of `readings`.
Everything that the provider returns is checked against the answers: unknown themes and sentiments are
dropped, and so are quotes that occur in no answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
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
    SENTIMENTS,
    AnalysisOverview,
    CountedTheme,
    ProviderError,
    Sentiment,
    TextFigures,
    TextTheme,
)
from surveys.ai.quotes import is_quotable
from surveys.services.ai_work import codebook, readings
from surveys.services.ground import anonymity

MAX_REPORTED_THEMES = 12  # for each question
MAX_QUOTES = 3
MAX_LIKENESS = 0.7  # of two quotes of a theme: the share of words that both have
MAX_SUMMARY = 2_000
WRITTEN_BY_US = "The application wrote this summary, because the AI model could not."


@dataclass(frozen=True, slots=True)
class FoundThemes:
    """The themes of a question with their counts, the most frequent first, and the answers by sentiment.

    `ranked` are pairs of a theme's id and its counts. `moods` leaves out answers that could not be judged.
    """

    block_id: int
    covers: str
    answer_count: int
    read_count: int
    moods: Mapping[str, int]
    ranked: Sequence[tuple[int, CountedTheme]]

    @classmethod
    def of(cls, *, block_id: int, covers: str) -> Self:
        """Count what the rows say now."""
        counted = readings.counted(block_id=block_id, covers=covers)
        found = [
            (theme, moods)
            for theme in codebook.live(block_id=block_id)
            if (moods := counted.themes.get(theme.pk))
        ]
        found.sort(key=lambda each: (-sum(each[1].values()), each[0].pk))
        return cls(
            block_id=block_id,
            covers=covers,
            answer_count=counted.answer_count,
            read_count=counted.read_count,
            moods={mood: counted.sentiments.get(mood, 0) for mood in SENTIMENTS},
            ranked=[
                (
                    theme.pk,
                    CountedTheme(
                        title=theme.title,
                        description=theme.description,
                        count=sum(moods.values()),
                        percentage=round(100 * sum(moods.values()) / counted.read_count, 2),
                        sentiment=_most_frequent(moods),
                    ),
                )
                for theme, moods in found[:MAX_REPORTED_THEMES]
            ],
        )

    @property
    def unjudged_count(self) -> int:
        return self.read_count - sum(self.moods.values())

    def report(self, summary: str | None, *, least: int | None) -> dict[str, Any]:
        """The `open_text` of an AnalysisBlock (rules 10.10 to 10.12).

        `least` is from `anonymity.least_answers`. Where it is set, nobody is quoted if fewer than that have
        answered, nor if only one of them mentioned the theme.
        """
        quoted = [
            theme_id
            for theme_id, counted in self.ranked
            if anonymity.is_enough(self.answer_count, least=least) and (counted.count > 1 or least is None)
        ]
        quotes = readings.quotes(block_id=self.block_id, covers=self.covers, themes=quoted) if quoted else {}
        told: set[str] = set()
        return {
            "summary": summary or None,
            "themes": [
                {**asdict(counted), "quotes": _different(quotes.get(theme_id, ()), told)}
                for theme_id, counted in self.ranked
            ],
            "sentiment": dict(self.moods) if any(self.moods.values()) or not self.unjudged_count else None,
            "answer_count": self.answer_count,
            "analysed_count": self.read_count,
        }


def _most_frequent(moods: Mapping[str | None, int]) -> Sentiment | None:
    """The most frequent sentiment among answers; None if none could be judged."""
    if not any(moods.get(each) for each in SENTIMENTS):
        return None
    return max(SENTIMENTS, key=lambda each: moods.get(each, 0))


def _different(quotes: Sequence[str], told: set[str]) -> list[str]:
    """At most MAX_QUOTES quotes that differ in their words, and from those that were `told` already."""
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


def cleaned(themes: Sequence[TextTheme]) -> list[TextTheme]:
    """Themes that a provider has named, with texts on one line; those without a title are left out."""
    clean = (
        TextTheme(
            codebook.one_line(clean_text(theme.title, MAX_THEME_TITLE)),
            clean_text(theme.description, MAX_THEME_DESCRIPTION),
            tuple(filter(None, (clean_text(phrase, codebook.MAX_PHRASE) for phrase in theme.phrases))),
        )
        for theme in themes
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
    """Everything that a summary may take its numbers from, as one text; ids are left out."""
    fields = orjson.loads(wire.render(asdict(given)))
    blocks = fields.get("blocks", ())
    for block in blocks:
        for name in ("block_id", "position"):
            block.pop(name, None)
        for entry in block.get("distribution") or ():
            entry.pop("option_id", None)
    return [wire.render(fields).decode(), str(len(blocks))]


def well_founded(
    write: Callable[[], str], figures: Sequence[str], *, otherwise: Callable[[], str], tries: int = 2
) -> str:
    """A text whose numbers are all among the figures: a provider's, tried again, or else our own.

    Our own too if the provider fails: the answers have been read and paid by then.
    """
    with suppress(ProviderError):
        for _ in range(tries):
            text = write()
            if not unfounded(text, figures):
                return text
    return f"{otherwise()} {WRITTEN_BY_US}"


def verbatim_quote(quote: object, text: str) -> str | None:
    """A quote that is a verbatim part of this answer, shortened if it is too long; None if it is not.

    None too if it holds what points to a person, such as a name or an address.
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
