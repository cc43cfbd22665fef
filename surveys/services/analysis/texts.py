"""Answers to open questions: read in batches, and what was found in them, counted by us (decisions 11.6).

A provider assigns answers to themes and names these. All that it says is held against the answers: what
names no theme, is no mood, or is quoted from nowhere is dropped; an answer about which nothing sound is said
counts as not analysed.
"""

from __future__ import annotations

import unicodedata
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from communities.statements import fetch_rows
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
from surveys.services import anonymity

MOST_TOLD = 12  # themes of a question
# More are followed, so that a new one can grow past those that were there first. Of those that another
# analysis knew so few are taken over that some places are left, for which new ones compete.
MOST_FOLLOWED = 24
MOST_KNOWN = 18
MOST_NEW, LEAST_NEW = 8, 3  # to be named in one batch
MOST_QUOTES = 3
LONGEST_SUMMARY = 2_000

_COVERS = {"completed": "AND c.completed_at IS NOT NULL", "partial": "AND c.completed_at IS NULL"}
Title = tuple[str, str]  # a theme's title and description


# --- In the database --------------------------------------------------------------------------------


def count(*, project_id: int, covers: str) -> int:
    """How many answers to open questions there are, to removed ones too."""
    narrowed = ""
    if covers in _COVERS:
        narrowed = f"JOIN surveys_conversation c ON c.id = a.conversation_id {_COVERS[covers]}"
    sql = f"""
        SELECT count(*) FROM surveys_block b JOIN surveys_answer a ON a.block_id = b.id {narrowed}
        WHERE b.project_id = %s AND b.type = 'open_text'
    """
    return int(fetch_rows(sql, [project_id])[0][0])


def batch(
    *, project_id: int, block_id: int, covers: str, after: str | None, length: int
) -> list[tuple[uuid.UUID, str]]:
    """The next answers to a question, in the order of their conversations' ids: a few, at any depth.

    Each conversation is asked for its one answer. As a plain join PostgreSQL would walk through all answers
    from the first, each time: 50 ms for the 100 behind the 150,000th, in place of 1 ms.
    """
    sql = f"""
        SELECT c.id, a.value
        FROM surveys_conversation c CROSS JOIN LATERAL (
            SELECT value FROM surveys_answer WHERE conversation_id = c.id AND block_id = %s LIMIT 1
        ) a
        WHERE c.project_id = %s AND c.id > %s {_COVERS.get(covers, "")}
        ORDER BY c.id LIMIT %s
    """
    return fetch_rows(sql, [block_id, project_id, after or uuid.UUID(int=0), length])


# --- What was found ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Followed:
    """A theme, the moods of its answers, and some of their words."""

    title: str
    description: str
    moods: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SENTIMENTS, 0))
    quotes: list[str] = field(default_factory=list)
    is_known: bool = False  # from an earlier analysis

    @property
    def count(self) -> int:
        return sum(self.moods.values())

    @property
    def mood(self) -> Sentiment:
        """The most frequent among its answers."""
        return max(SENTIMENTS, key=lambda each: self.moods[each])


@dataclass(slots=True)
class Findings:
    """What the answers to one question came to so far: small, however many they are."""

    themes: dict[str, Followed] = field(default_factory=dict)  # by title, as titles are compared
    moods: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SENTIMENTS, 0))
    answer_count: int = 0
    last: str | None = None  # the conversation up to which they are read
    is_read: bool = False
    summary: str | None = None

    @classmethod
    def knowing(cls, titles: Sequence[Title]) -> Self:
        """Nothing yet, but the themes of an earlier analysis, which keep their titles."""
        known = [Followed(title, description, is_known=True) for title, description in titles[:MOST_KNOWN]]
        return cls(themes={_compared(theme.title): theme for theme in known})

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        themes = [Followed(**theme) for theme in kept["themes"]]
        return cls(**{**kept, "themes": {_compared(theme.title): theme for theme in themes}})

    def as_json(self) -> dict[str, Any]:
        """All of it, for a worker that takes over."""
        return {**asdict(self), "themes": [asdict(theme) for theme in self.themes.values()]}

    @property
    def analysed_count(self) -> int:
        return sum(self.moods.values())

    @property
    def known(self) -> list[TextTheme]:
        return [TextTheme(theme.title, theme.description) for theme in self.themes.values()]

    @property
    def room(self) -> int:
        """How many new themes may be named."""
        return max(LEAST_NEW, min(MOST_NEW, MOST_FOLLOWED - len(self.themes)))

    def add(self, texts: Sequence[str], reading: BatchReading) -> None:
        """Count a batch of answers by what was made of it, as far as that can be."""
        new = self._named(reading)
        self.answer_count += len(texts)
        if len(reading.texts) != len(texts):
            return  # nobody knows which is about which
        for text, read in zip(texts, reading.texts, strict=True):
            if read is not None and read.sentiment in SENTIMENTS:
                self._count(text, read, new)
        self._drop_least()

    def _named(self, reading: BatchReading) -> dict[str, Followed]:
        new: dict[str, Followed] = {}
        for theme in reading.themes:
            title = words(theme.title, MAX_THEME_TITLE)
            key = _compared(title)
            if title and key not in self.themes and key not in new and len(new) < self.room:
                new[key] = Followed(title, words(theme.description, MAX_THEME_DESCRIPTION))
        return new

    def _count(self, text: str, read: TextReading, new: Mapping[str, Followed]) -> None:
        self.moods[read.sentiment] += 1
        themes = []
        for key in dict.fromkeys(_compared(words(title, MAX_THEME_TITLE)) for title in read.themes):
            if key in new:
                self.themes.setdefault(key, new[key])
            if key in self.themes:
                themes.append(self.themes[key])
        for theme in themes:
            theme.moods[read.sentiment] += 1
        self._quote(quoted(read.quote, text), themes)

    def _drop_least(self) -> None:
        """Follow no more themes than there are places: of the new ones those that fewest answers have go."""
        new = [key for key, theme in self.themes.items() if not theme.is_known]
        places = MOST_FOLLOWED - (len(self.themes) - len(new))
        for key in sorted(new, key=lambda key: -self.themes[key].count)[places:]:
            del self.themes[key]

    def _quote(self, quote: str | None, themes: Sequence[Followed]) -> None:
        """Keep somebody's words once, with the first of their themes that has a place left."""
        if quote is None or any(quote in theme.quotes for theme in self.themes.values()):
            return
        for theme in themes:
            if len(theme.quotes) < MOST_QUOTES:
                theme.quotes.append(quote)
                return

    # --- Told -----------------------------------------------------------------------------------------

    def counted(self) -> list[tuple[Followed, CountedTheme]]:
        """The themes that answers have, the most frequent first; of equal ones the first that was known."""
        ranked = sorted(self.themes.values(), key=lambda theme: -theme.count)[:MOST_TOLD]
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

    def told(self, *, least: int | None) -> dict[str, Any]:
        """`open_text` as the interface tells it (decisions 11.5).

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
                for theme, counted in self.counted()
            ],
            "sentiment": self.moods,
            "answer_count": self.answer_count,
            "analysed_count": self.analysed_count,
        }

    def titles(self) -> list[Title]:
        """What a later analysis shall know: themes told now, then those that nobody has, or few."""
        told = [theme for theme, _ in self.counted()]
        others = [theme for theme in self.themes.values() if theme not in told]
        return [(theme.title, theme.description) for theme in [*told, *others]][:MOST_KNOWN]


# --- Words of a provider ----------------------------------------------------------------------------

_NO_SIGNS = {"Cc", "Cs"}  # control characters, and halves of what is none


def words(text: object, longest: int) -> str:
    """Text of a provider as it may be kept: one line, without what is no sign, cut at its longest."""
    if not isinstance(text, str):
        return ""
    signs = "".join(" " if unicodedata.category(each) in _NO_SIGNS else each for each in text)
    return " ".join(signs.split())[:longest].strip()


def quoted(quote: object, text: str) -> str | None:
    """A quote as it may be told: a part of this very answer, letter by letter; None where it is none."""
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


def _compared(title: str) -> str:
    return unicodedata.normalize("NFKC", title).casefold()
