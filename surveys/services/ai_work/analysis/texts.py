"""Answers to open questions: read in batches, and the themes found in them (rules 10.13 to 10.15).

An AI provider names themes and assigns answers to them; counts are computed here. Everything the provider
returns is checked against the answers: unknown themes and sentiments are dropped, and so are quotes that
occur in no answer. An answer with nothing valid said about it counts as not analysed.
"""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from communities.ground.statements import fetch_rows
from surveys.ai.provider import (
    MAX_QUOTE,
    MAX_THEME_DESCRIPTION,
    MAX_THEME_TITLE,
    SENTIMENTS,
    BatchReading,
    CountedTheme,
    Sentiment,
    TextReading,
    TextTheme,
)
from surveys.models import Block
from surveys.services.ground import anonymity

MAX_REPORTED_THEMES = 12  # for each question
# More themes are tracked than reported, so that a new one can overtake earlier ones. Fewer are taken over
# from an earlier analysis, so that new themes can compete for the places that are left.
MAX_TRACKED_THEMES = 24
MAX_KNOWN_THEMES = 18
MAX_NEW_THEMES, MIN_NEW_THEMES = 8, 3  # named in one batch
MAX_QUOTES = 3
MAX_SUMMARY = 2_000
MAX_READ = 2_000  # characters of one answer: a price for each text limits what a model reads for it

_COVERS = {"completed": "AND c.completed_at IS NOT NULL", "partial": "AND c.completed_at IS NULL"}
ThemeTitle = tuple[str, str]  # a theme's title and description


# --- In the database --------------------------------------------------------------------------------


def question_ids(*, project_id: int) -> frozenset[int]:
    """The open questions that are read, removed ones included. Those of the intro are not.

    An intro gets to know the respondent, as by asking for a name: its answers hold no themes.
    """
    rows = Block.objects.filter(project_id=project_id, type="open_text").exclude(section=Block.Section.INTRO)
    return frozenset(rows.values_list("pk", flat=True))


def count(*, project_id: int, covers: str) -> int:
    """How many answers there are to the open questions that are read (`question_ids`)."""
    narrowed = ""
    if covers in _COVERS:
        narrowed = f"JOIN surveys_conversation c ON c.id = a.conversation_id {_COVERS[covers]}"
    sql = f"""
        SELECT count(*) FROM surveys_block b JOIN surveys_answer a ON a.block_id = b.id {narrowed}
        WHERE b.project_id = %s AND b.type = 'open_text' AND b.section <> 'intro'
    """
    return int(fetch_rows(sql, [project_id])[0][0])


def batch(
    *, project_id: int, block_id: int, covers: str, after: str | None, length: int
) -> list[tuple[uuid.UUID, str]]:
    """The next answers to a question, by conversation id, cut to MAX_READ, at the same cost at any depth.

    Hand-written SQL that looks up one answer for each conversation. With a plain join PostgreSQL reads all
    answers from the first one: 50 ms for the 100 after the 150,000th, instead of 1 ms.
    """
    sql = f"""
        SELECT c.id, left(a.value, {MAX_READ})
        FROM surveys_conversation c CROSS JOIN LATERAL (
            SELECT value FROM surveys_answer WHERE conversation_id = c.id AND block_id = %s LIMIT 1
        ) a
        WHERE c.project_id = %s AND c.id > %s {_COVERS.get(covers, "")}
        ORDER BY c.id LIMIT %s
    """
    return fetch_rows(sql, [block_id, project_id, after or uuid.UUID(int=0), length])


# --- Themes ---------------------------------------------------------------------------------


@dataclass(slots=True)
class TrackedTheme:
    """A theme, the sentiments of its answers, and a few quotes from them."""

    title: str
    description: str
    moods: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SENTIMENTS, 0))
    unjudged: int = 0  # answers whose sentiment is unknown
    quotes: list[str] = field(default_factory=list)
    is_known: bool = False  # from an earlier analysis

    @property
    def count(self) -> int:
        return sum(self.moods.values()) + self.unjudged

    @property
    def mood(self) -> Sentiment | None:
        """The most frequent sentiment among its answers; None if none could be judged."""
        if not any(self.moods.values()):
            return None
        return max(SENTIMENTS, key=lambda each: self.moods[each])


@dataclass(slots=True)
class QuestionThemes:
    """The themes and sentiments in the answers to one question so far. Stays small."""

    themes: dict[str, TrackedTheme] = field(default_factory=dict)  # by normalised title
    moods: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SENTIMENTS, 0))
    unjudged: int = 0  # answers that were read, but whose sentiment is unknown
    answer_count: int = 0
    last: str | None = None  # id of the last conversation that was read
    is_read: bool = False
    summary: str | None = None

    @classmethod
    def with_known(cls, titles: Sequence[ThemeTitle]) -> Self:
        """No answers yet, but the themes of an earlier analysis, which keep their titles."""
        known = [
            TrackedTheme(title, description, is_known=True)
            for title, description in titles[:MAX_KNOWN_THEMES]
        ]
        return cls(themes={_theme_key(theme.title): theme for theme in known})

    @classmethod
    def from_checkpoint(cls, checkpoint: Mapping[str, Any]) -> Self:
        themes = [TrackedTheme(**theme) for theme in checkpoint["themes"]]
        return cls(**{**checkpoint, "themes": {_theme_key(theme.title): theme for theme in themes}})

    def to_checkpoint(self) -> dict[str, Any]:
        """Everything, as JSON for a worker that takes over."""
        return {**asdict(self), "themes": [asdict(theme) for theme in self.themes.values()]}

    @property
    def analysed_count(self) -> int:
        return sum(self.moods.values()) + self.unjudged

    @property
    def known(self) -> list[TextTheme]:
        return [TextTheme(theme.title, theme.description) for theme in self.themes.values()]

    @property
    def room(self) -> int:
        """How many new themes the provider may name in the next batch."""
        return max(MIN_NEW_THEMES, min(MAX_NEW_THEMES, MAX_TRACKED_THEMES - len(self.themes)))

    def add(self, texts: Sequence[str], reading: BatchReading) -> None:
        """Count a batch of answers as the provider read it, as far as its reading is valid."""
        new = self._named(reading)
        self.answer_count += len(texts)
        if len(reading.texts) != len(texts):
            return  # the provider's readings cannot be matched to the answers
        for text, read in zip(texts, reading.texts, strict=True):
            if read is not None and (read.sentiment is None or read.sentiment in SENTIMENTS):
                self._count(text, read, new)
        self._drop_least()

    def _named(self, reading: BatchReading) -> dict[str, TrackedTheme]:
        new: dict[str, TrackedTheme] = {}
        for theme in reading.themes:
            title = clean_text(theme.title, MAX_THEME_TITLE)
            key = _theme_key(title)
            if title and key not in self.themes and key not in new and len(new) < self.room:
                new[key] = TrackedTheme(title, clean_text(theme.description, MAX_THEME_DESCRIPTION))
        return new

    def _count(self, text: str, read: TextReading, new: Mapping[str, TrackedTheme]) -> None:
        themes = []
        for key in dict.fromkeys(_theme_key(clean_text(title, MAX_THEME_TITLE)) for title in read.themes):
            if key in new:
                self.themes.setdefault(key, new[key])
            if key in self.themes:
                themes.append(self.themes[key])
        everything: list[QuestionThemes | TrackedTheme] = [self, *themes]
        for counted in everything:
            if read.sentiment is None:
                counted.unjudged += 1
            else:
                counted.moods[read.sentiment] += 1
        self._quote(verbatim_quote(read.quote, text), themes)

    def _drop_least(self) -> None:
        """Drop the new themes with the fewest answers until no more than `MAX_TRACKED_THEMES` are left."""
        new = [key for key, theme in self.themes.items() if not theme.is_known]
        places = MAX_TRACKED_THEMES - (len(self.themes) - len(new))
        for key in sorted(new, key=lambda key: -self.themes[key].count)[places:]:
            del self.themes[key]

    def _quote(self, quote: str | None, themes: Sequence[TrackedTheme]) -> None:
        """Keep a quote once, with the first of its themes that has fewer than `MAX_QUOTES`."""
        if quote is None or any(quote in theme.quotes for theme in self.themes.values()):
            return
        for theme in themes:
            if len(theme.quotes) < MAX_QUOTES:
                theme.quotes.append(quote)
                return

    def ranked(self) -> list[tuple[TrackedTheme, CountedTheme]]:
        """The themes that have answers, the most frequent first, then in the order they were found."""
        ranked = sorted(self.themes.values(), key=lambda theme: -theme.count)[:MAX_REPORTED_THEMES]
        return [
            (
                theme,
                CountedTheme(
                    title=theme.title,
                    description=theme.description,
                    count=theme.count,
                    percentage=round(100 * theme.count / self.analysed_count, 2),
                    sentiment=theme.mood,
                ),
            )
            for theme in ranked
            if theme.count
        ]

    def report(self, *, least: int | None) -> dict[str, Any]:
        """The `open_text` of an AnalysisBlock (rules 10.10 to 10.12).

        `least` is from `anonymity.least_answers`. Where it is set, nobody is quoted if fewer than that have
        answered, nor if only one of them mentioned the theme.
        """
        may_quote = anonymity.is_enough(self.answer_count, least=least)
        return {
            "summary": self.summary or None,
            "themes": [
                {
                    **asdict(counted),
                    "quotes": theme.quotes if may_quote and (counted.count > 1 or least is None) else [],
                }
                for theme, counted in self.ranked()
            ],
            "sentiment": self.moods if any(self.moods.values()) or not self.unjudged else None,
            "answer_count": self.answer_count,
            "analysed_count": self.analysed_count,
        }

    def titles(self) -> list[ThemeTitle]:
        """The themes that a later analysis starts with: the reported ones, then the rest."""
        reported = [theme for theme, _ in self.ranked()]
        others = [theme for theme in self.themes.values() if theme not in reported]
        return [(theme.title, theme.description) for theme in [*reported, *others]][:MAX_KNOWN_THEMES]


# --- Texts of a provider ----------------------------------------------------------------------------

_UNPRINTABLE = {"Cc", "Cs"}  # control characters and lone surrogates


def clean_text(text: object, longest: int) -> str:
    """A provider's text on one line, without unprintable characters, cut to `longest` characters."""
    if not isinstance(text, str):
        return ""
    characters = "".join(" " if unicodedata.category(each) in _UNPRINTABLE else each for each in text)
    return " ".join(characters.split())[:longest].strip()


def verbatim_quote(quote: object, text: str) -> str | None:
    """A quote that is a verbatim part of this answer, shortened if it is too long; None if it is not."""
    if not isinstance(quote, str):
        return None
    quote = quote.strip()
    if not quote or quote not in text:
        return None
    if len(quote) <= MAX_QUOTE:
        return quote
    cut = quote[: MAX_QUOTE + 1]
    at_word = cut.rsplit(None, 1)[0] if any(each.isspace() for each in cut) else ""
    return (at_word or quote[:MAX_QUOTE])[:MAX_QUOTE].strip()


def _theme_key(title: str) -> str:
    return unicodedata.normalize("NFKC", title).casefold()
