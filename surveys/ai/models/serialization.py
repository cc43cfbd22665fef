"""The data that a model gets, as JSON: intents, scripts, answers, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from surveys.ai.models.assignment import NO_OPINION
from surveys.ai.models.json_values import truncate
from surveys.ai.models.revisions import shown_script
from surveys.ai.provider import (
    MAX_QUESTION,
    AnalysisOverview,
    Correction,
    FollowUpRequest,
    ResultsQuestion,
    RevisionRequest,
    ScriptRequest,
    TextBatch,
    TextFigures,
    TextSample,
    TextTheme,
)
from surveys.engine.script import Bucket

_MAX_PROMPT = 300  # A prompt has at most this many characters.
_MAX_BLOCKS = 60
_MAX_ENTRIES = 12
# At most this many examples are sent, each with at most this many characters.
_MAX_EXAMPLES, _MAX_EXAMPLE = 30, 300
_MAX_FIGURES = 600
_MAX_ANSWER = 2_000
_SCALE_LABELS = ("label_left", "label_center", "label_right")

Figures = Mapping[str, Any]


def serialize_script_request(request: ScriptRequest, correction: Correction | None) -> dict[str, object]:
    """Return the intent with its conditions, and the draft to correct, as data for a model."""
    data: dict[str, object] = {"intent": request.intent, "type": request.type}
    if request.community:
        data["community"] = truncate(request.community, most=_MAX_PROMPT)
    if request.topics:
        data["topics"] = truncate(request.topics, most=_MAX_PROMPT)
    if request.scoring is not None:
        data["scoring"] = request.scoring
    return data | dict(_conditions(request)) | dict(_correction(correction))


def serialize_revision_request(request: RevisionRequest, correction: Correction | None) -> dict[str, object]:
    """Return the script with the requested change, and the draft to correct, as data for a model."""
    data = {"type": request.type, "instruction": request.instruction, "script": shown_script(request.blocks)}
    return data | dict(_conditions(request)) | dict(_correction(correction))


def _conditions(request: ScriptRequest | RevisionRequest) -> Iterator[tuple[str, object]]:
    if request.bucket_names:
        yield "bucket_keys", [Bucket(name).key for name in request.bucket_names]
    if request.for_chat:
        yield "for_chat", True


def _correction(correction: Correction | None) -> Iterator[tuple[str, object]]:
    if correction is not None:
        yield "draft", list(correction.draft.blocks)
        yield "violations", list(correction.violations)


def serialize_review(blocks: Sequence[Figures]) -> dict[str, object]:
    """Return the texts of each block that respondents read, by the position of the block."""
    return {"blocks": [{"position": n, **dict(_read_of(block))} for n, block in enumerate(blocks)]}


def _read_of(block: Figures) -> Iterator[tuple[str, object]]:
    yield "type", block.get("type")
    yield "prompt", block.get("prompt") or ""
    if options := block.get("options"):
        yield "options", [option.get("label") or option.get("value") for option in options]
    for key in ("min", "max"):
        if block.get(key) is not None:
            yield key, block[key]
    if labels := [label for key in _SCALE_LABELS if (label := (block.get("scale") or {}).get(key))]:
        yield "labels", labels


def serialize_sample(
    sample: TextSample, answers: Sequence[str], known: Sequence[TextTheme]
) -> dict[str, object]:
    """Return answers to one question, with the themes that are already named, as data for a model."""
    return {
        "question": sample.prompt,
        "known_themes": [_theme(theme) for theme in known],
        "room": sample.max_new_themes,
        "answers": list(answers),
    }


def serialize_codebook(batch: TextBatch) -> dict[str, object]:
    """Return the data that all requests for one question share: the question, its numbered themes, the
    examples.
    """
    data: dict[str, object] = {
        "question": batch.prompt,
        "themes": [{"index": n, **_theme(theme)} for n, theme in enumerate(batch.themes)],
    }
    if batch.examples:
        data["examples"] = [
            {
                "text": truncate(example.text, most=_MAX_EXAMPLE),
                "themes": list(example.themes),
                "sentiment": example.sentiment or NO_OPINION,
            }
            for example in batch.examples[:_MAX_EXAMPLES]
        ]
    return data


def serialize_answers(answers: Mapping[int, str]) -> dict[str, object]:
    """Return answers by their numbers, as data for a model."""
    return {"answers": [{"n": number, "text": text} for number, text in answers.items()]}


def _theme(theme: TextTheme) -> dict[str, str]:
    description = {"description": theme.description} if theme.description else {}
    return {"title": theme.title, **description}


def serialize_question(question: ResultsQuestion) -> dict[str, object]:
    """Return the figures with their references, and the question about them, as data for a model."""
    return {
        "question": truncate(question.question, most=MAX_QUESTION),
        "figures": [
            {
                "reference": figure.reference,
                "text": truncate(figure.text, most=_MAX_PROMPT),
                "value": figure.value,
            }
            for figure in question.figures[:_MAX_FIGURES]
        ],
    }


def serialize_follow_up(request: FollowUpRequest) -> dict[str, object]:
    """Return a question with its answer, and the further questions so far, as data for a model."""
    return {
        "question": truncate(request.prompt, most=_MAX_ANSWER),
        "answer": truncate(request.answer, most=_MAX_ANSWER),
        "earlier": [
            {"question": question, "answer": truncate(answer, most=_MAX_ANSWER)}
            for question, answer in request.earlier
        ],
    }


def serialize_text_figures(figures: TextFigures) -> dict[str, object]:
    """Return the counts of one open question, without any answer."""
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
    """Return the most important figures of a whole analysis, without quotes from answers, as data for a
    model.
    """
    questions = [block for block in overview.blocks if block.get("block_type") != "content_block"]
    return {
        "name": truncate(overview.name, most=_MAX_PROMPT),
        "conversation_count": overview.conversation_count,
        "completion_count": overview.completion_count,
        "blocks": [dict(_block_fields(block)) for block in questions[:_MAX_BLOCKS]],
        "differences": list(overview.differences),
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
        keys = ("title", "count", "percentage", "sentiment")  # The keys leave out quotes.
        themes = texts["themes"][:_MAX_ENTRIES]
        yield "themes", [{key: theme.get(key) for key in keys} for theme in themes]
        yield "sentiment", texts.get("sentiment")


def _most_frequent(entries: Sequence[Figures]) -> Sequence[Figures]:
    """Return the most frequent entries if there are many entries; otherwise all entries, in their
    own order.
    """
    if len(entries) <= _MAX_ENTRIES:
        return entries
    return sorted(entries, key=lambda entry: entry.get("count") or 0, reverse=True)[:_MAX_ENTRIES]


def _entry(entry: Figures, *keys: str) -> dict[str, object]:
    answer = truncate(str(entry.get("label") or entry.get("value") or ""), most=_MAX_PROMPT)
    return {"answer": answer, **{key: entry.get(key) for key in keys}}
