"""Figures as the model gets them for a summary: what a reader would look at, and no text of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from surveys.ai.claude import shapes
from surveys.ai.provider import Overview, TextFigures

MAX_TEXTS_SUMMARY = 800  # characters
MAX_SUMMARY = 1_500
_MAX_WORDING = 300
_MOST_BLOCKS = 60
_MOST_ENTRIES = 12

Figures = Mapping[str, Any]


def of_texts(figures: TextFigures) -> dict[str, object]:
    return {
        "question": shapes.cut(figures.prompt, most=_MAX_WORDING),
        "answer_count": figures.answer_count,
        "sentiment": dict(figures.sentiment),
        "themes": [
            {
                "title": theme.title,
                "description": theme.description,
                "count": theme.count,
                "percentage": theme.percentage,
                "sentiment": theme.sentiment,
            }
            for theme in figures.themes[:_MOST_ENTRIES]
        ],
    }


def of_all(overview: Overview) -> dict[str, object]:
    asked = [block for block in overview.blocks if block.get("block_type") != "content_block"]
    return {
        "name": shapes.cut(overview.name, most=_MAX_WORDING),
        "conversation_count": overview.conversation_count,
        "completion_count": overview.completion_count,
        "blocks": [dict(_of_block(block)) for block in asked[:_MOST_BLOCKS]],
    }


def _of_block(block: Figures) -> Iterator[tuple[str, object]]:
    yield "question", shapes.cut(str(block.get("prompt", "")), most=_MAX_WORDING)
    yield "type", block.get("block_type")
    yield "answered_by", block.get("response_count")
    if distribution := block.get("distribution"):
        yield "distribution", [_entry(each, "count", "percentage") for each in _most(distribution, "count")]
    if stats := block.get("stats"):
        yield "stats", {key: stats.get(key) for key in ("mean", "min", "max")}
    if nps := block.get("nps"):
        yield "nps", {key: nps.get(key) for key in ("score", "promoters", "passives", "detractors")}
    if ranking := block.get("ranking"):
        ranked = [_entry(each, "average_rank", "first_choice_count") for each in ranking[:_MOST_ENTRIES]]
        yield "ranking", ranked
    if (texts := block.get("open_text")) and texts.get("themes"):
        keys = ("title", "count", "percentage", "sentiment")  # and no quotes
        yield "themes", [{key: each.get(key) for key in keys} for each in texts["themes"][:_MOST_ENTRIES]]
        yield "sentiment", texts.get("sentiment")


def _most(entries: Sequence[Figures], key: str) -> Sequence[Figures]:
    """The greatest of many, else all, in their own order."""
    if len(entries) <= _MOST_ENTRIES:
        return entries
    return sorted(entries, key=lambda entry: entry.get(key) or 0, reverse=True)[:_MOST_ENTRIES]


def _entry(entry: Figures, *keys: str) -> dict[str, object]:
    answer = shapes.cut(str(entry.get("label") or entry.get("value") or ""), most=_MAX_WORDING)
    return {"answer": answer, **{key: entry.get(key) for key in keys}}
