"""Analysed text answers on a results page: sentiment counts for all readers, themes and quotes for staff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from communities.ground.words import amount, percent, plural
from surveys.drawing.figures.charts import BarPart, Card, ChartBar, DataTable, divide

SENTIMENTS = {"positive": "Positive", "neutral": "Neutral", "negative": "Negative"}
TEXTS_HIDDEN = "People answered in their own words. Their texts are not shown here."


@dataclass(frozen=True, slots=True)
class ThemeBar:
    """One theme of the answers. `width` is its share in percent, with two decimals for SVG."""

    title: str
    description: str
    count: float
    share: str
    width: str
    sentiment: str
    quotes: Sequence[str]


@dataclass(frozen=True, slots=True)
class TextAnalysis:
    """The analysis of the answers to one text question. `coverage` says how many answers it read.

    `unjudged` says of how many of those the tone was read, if not of all.
    """

    summary: str
    coverage: str
    unjudged: str
    themes: Sequence[ThemeBar]


def sentiment_card(card: Card, open_text: Mapping[str, Any]) -> Card:
    """Return the public card of a text question: sentiment counts, without any texts."""
    counts = open_text["sentiment"]
    if not counts:
        return replace(card, note=TEXTS_HIDDEN)
    parts = sentiment_parts(counts)
    table = DataTable(
        ("Sentiment", "Answers", "Share"), [(part.text, amount(part.count), part.share) for part in parts]
    )
    judged, given = sum(counts.values()), open_text["answer_count"]
    note = TEXTS_HIDDEN
    if judged < given:
        note = f"{note} The tone of {judged:,} of {plural(given, 'answer')} was read."
    return replace(card, parts=parts, note=note, table=table)


def sentiment_parts(counts: Mapping[str, int] | None) -> Sequence[BarPart]:
    """Return the stacked bar of sentiments; no parts if none could be judged."""
    if counts is None:
        return ()
    return divide([(key, text, counts.get(key, 0)) for key, text in SENTIMENTS.items()])


def theme_bars(open_text: Mapping[str, Any]) -> list[ChartBar]:
    """Return a bar for each theme, without words of answers."""
    return [
        ChartBar(theme["title"], theme["count"], percent(theme["percentage"]), f"{theme['percentage']:.2f}")
        for theme in open_text["themes"]
    ]


def text_analysis(open_text: Mapping[str, Any], *, is_weighted: bool = False) -> TextAnalysis:
    """Build the view of an `open_text` object (AnalysisBlock) for staff. Weighted counts do not tell of how
    many answers the tone was read.
    """
    themes = [
        ThemeBar(
            title=theme["title"],
            description=theme.get("description") or "",
            count=theme["count"],
            share=percent(theme["percentage"]),
            width=f"{theme['percentage']:.2f}",
            sentiment=SENTIMENTS.get(theme["sentiment"], ""),
            quotes=theme.get("quotes") or (),
        )
        for theme in open_text.get("themes") or ()
    ]
    read, given = open_text["analysed_count"], open_text["answer_count"]
    coverage = (
        f"Themes of {plural(read, 'answer')}" if read == given else f"Themes of {read:,} of {given:,} answers"
    )
    judged = sum((open_text["sentiment"] or {}).values())
    unjudged = ""
    if judged < read and not is_weighted:
        unjudged = f"The tone of {judged:,} of {plural(read, 'answer')} was read."
    return TextAnalysis(open_text.get("summary") or "", coverage, unjudged, themes)
