"""What people wrote, as far as a results page shows it: sentiments in sum, and for staff the themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from communities.words import plural
from surveys.pages.results.charts import Card, Part, Table, divide
from surveys.pages.words import share

SENTIMENTS = {"positive": "Positive", "neutral": "Neutral", "negative": "Negative"}
OWN_WORDS = "Written in people's own words, which are not shown here."


@dataclass(frozen=True, slots=True)
class Theme:
    title: str
    description: str
    count: int
    share: str
    width: str
    sentiment: str
    quotes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an analysis made of the answers to one question."""

    summary: str
    told: str
    themes: Sequence[Theme]


def sentiment_card(card: Card, open_text: Mapping[str, Any]) -> Card:
    """A text question's card without anybody's words: how many are positive, neutral and negative."""
    counts = open_text["sentiment"]
    if not counts:
        return replace(card, note=OWN_WORDS)
    parts = sentiment_parts(counts)
    table = Table(
        ("Sentiment", "Answers", "Share"), [(part.text, f"{part.count:,}", part.share) for part in parts]
    )
    return replace(card, parts=parts, note=OWN_WORDS, table=table)


def sentiment_parts(counts: Mapping[str, int]) -> Sequence[Part]:
    return divide([(key, text, counts.get(key, 0)) for key, text in SENTIMENTS.items()])


def reading(open_text: Mapping[str, Any]) -> Reading:
    themes = [
        Theme(
            title=theme["title"],
            description=theme.get("description") or "",
            count=theme["count"],
            share=share(theme["percentage"]),
            width=f"{theme['percentage']:.2f}",
            sentiment=SENTIMENTS.get(theme["sentiment"], ""),
            quotes=theme.get("quotes") or (),
        )
        for theme in open_text.get("themes") or ()
    ]
    read, given = open_text["analysed_count"], open_text["answer_count"]
    told = (
        f"Themes of {plural(read, 'answer')}" if read == given else f"Themes of {read:,} of {given:,} answers"
    )
    return Reading(open_text.get("summary") or "", told, themes)
