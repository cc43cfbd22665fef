"""The data that the model gets, as JSON: intents, answers, and the figures for a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from surveys.ai.claude.json_values import truncate
from surveys.ai.provider import AnalysisOverview, Correction, ScriptRequest, TextFigures, TextTheme
from surveys.engine.script import Bucket

_MAX_PROMPT = 300  # characters
_MAX_BLOCKS = 60
_MAX_ENTRIES = 12

Figures = Mapping[str, Any]


def serialize_script_request(request: ScriptRequest, correction: Correction | None) -> dict[str, object]:
    """The intent with its conditions, and the draft to correct."""
    data: dict[str, object] = {"intent": request.intent, "type": request.type}
    if request.scoring is not None:
        data["scoring"] = request.scoring
    if request.bucket_names:
        data["bucket_keys"] = [Bucket(name).key for name in request.bucket_names]
    if request.for_chat:
        data["for_chat"] = True
    if correction is not None:
        data["draft"] = list(correction.draft.blocks)
        data["violations"] = list(correction.violations)
    return data


def serialize_answers(
    *, prompt: str, themes: Sequence[TextTheme], max_new_themes: int, answers: Mapping[int, str]
) -> dict[str, object]:
    """Answers to one question by their numbers, with the themes known so far."""
    return {
        "question": prompt,
        "known_themes": [
            {"title": theme.title, "description": theme.description}
            if theme.description
            else {"title": theme.title}
            for theme in themes
        ],
        "room": max_new_themes,
        "answers": [{"n": number, "text": text} for number, text in answers.items()],
    }


def serialize_text_figures(figures: TextFigures) -> dict[str, object]:
    """The counts of one open question, without any answer."""
    return {
        "question": truncate(figures.prompt, most=_MAX_PROMPT),
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
            for theme in figures.themes[:_MAX_ENTRIES]
        ],
    }


def serialize_overview(overview: AnalysisOverview) -> dict[str, object]:
    """The most important figures of a whole analysis, without quotes from answers."""
    questions = [block for block in overview.blocks if block.get("block_type") != "content_block"]
    return {
        "name": truncate(overview.name, most=_MAX_PROMPT),
        "conversation_count": overview.conversation_count,
        "completion_count": overview.completion_count,
        "blocks": [dict(_block_fields(block)) for block in questions[:_MAX_BLOCKS]],
    }


def _block_fields(block: Figures) -> Iterator[tuple[str, object]]:
    yield "question", truncate(str(block.get("prompt", "")), most=_MAX_PROMPT)
    yield "type", block.get("block_type")
    yield "answered_by", block.get("response_count")
    if distribution := block.get("distribution"):
        yield "distribution", [_entry(entry, "count", "percentage") for entry in _most_frequent(distribution)]
    if stats := block.get("stats"):
        yield "stats", {key: stats.get(key) for key in ("mean", "min", "max")}
    if nps := block.get("nps"):
        yield "nps", {key: nps.get(key) for key in ("score", "promoters", "passives", "detractors")}
    if ranking := block.get("ranking"):
        entries = [_entry(entry, "average_rank", "first_choice_count") for entry in ranking[:_MAX_ENTRIES]]
        yield "ranking", entries
    if (texts := block.get("open_text")) and texts.get("themes"):
        keys = ("title", "count", "percentage", "sentiment")  # no quotes
        themes = texts["themes"][:_MAX_ENTRIES]
        yield "themes", [{key: theme.get(key) for key in keys} for theme in themes]
        yield "sentiment", texts.get("sentiment")


def _most_frequent(entries: Sequence[Figures]) -> Sequence[Figures]:
    """The most frequent entries if there are many; otherwise all of them, in their own order."""
    if len(entries) <= _MAX_ENTRIES:
        return entries
    return sorted(entries, key=lambda entry: entry.get("count") or 0, reverse=True)[:_MAX_ENTRIES]


def _entry(entry: Figures, *keys: str) -> dict[str, object]:
    answer = truncate(str(entry.get("label") or entry.get("value") or ""), most=_MAX_PROMPT)
    return {"answer": answer, **{key: entry.get(key) for key in keys}}
