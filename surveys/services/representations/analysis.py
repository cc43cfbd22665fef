"""An analysis as JSON, the same in the interface and in events (rules 10.10 to 10.12).

    as_json(analysis)                     from a row that is loaded
    rendered(project_id=…, covers=…, …)   for a read: the stored blocks are passed through unparsed
    in_aggregate(analysis, least=…)       for readers who may not read single responses

`blocks` is an empty list until the analysis is completed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson

from communities.ground.statements import prepared
from surveys.models import Analysis
from surveys.services.ground import anonymity

AnalysisJson = dict[str, Any]

_FIELDS = (
    "id",
    "project_id",
    "status",
    "with_ai",
    "covers",
    "created_at",
    "completed_at",
    "completion_count",
    "response_count",
    "credits_used",
    "generated_by",
    "progress",
    "summary",
    "error",
)
_PARTS = ("blocks_as_json", "scores_as_json", "variables_as_json")
# Hand-written SQL: reading a finished analysis takes one statement of 0.1 ms, however large its blocks are.
# The ORM would take 0.6 ms and parse the blocks, only to serialize them again.
_NEWEST = f"""
    SELECT {", ".join(_FIELDS)}, {", ".join(_PARTS)} FROM surveys_analysis
    WHERE project_id = %s AND (%s::varchar IS NULL OR covers = %s::varchar)
        AND (%s::bool IS NULL OR with_ai = %s::bool)
    ORDER BY id DESC LIMIT 1
"""


def as_json(analysis: Analysis) -> AnalysisJson:
    parts = (getattr(analysis, name) for name in _PARTS)
    return _serialize(
        [getattr(analysis, name) for name in _FIELDS],
        *(None if part is None else orjson.loads(part) for part in parts),
    )


def rendered(*, project_id: int, covers: str | None, with_ai: bool | None) -> AnalysisJson | None:
    """The newest analysis of a project that matches `covers` and `with_ai`; None matches any value."""
    with prepared() as cursor:
        cursor.execute(_NEWEST, [project_id, covers, covers, with_ai, with_ai])
        row = cursor.fetchone()
    if row is None:
        return None
    parts = row[-len(_PARTS) :]
    return _serialize(
        row[: -len(_PARTS)], *(None if part is None else orjson.Fragment(part) for part in parts)
    )


def in_aggregate(
    analysis: AnalysisJson, *, least: int | None, conditional_ids: Collection[int] = ()
) -> AnalysisJson:
    """The analysis for a reader who may not read single responses: without quotes and texts about themes.

    `least` is from `anonymity.least_answers`. If `least` is a number, figures over fewer answers, summaries
    and the lowest and highest number are null, and so are scores. Without it, only figures of blocks with
    conditions need as many answers. Texts in calculated results may be a respondent's words, so the texts are
    left out.
    """
    scores, variables = orjson.loads(orjson.dumps([analysis["scores"], analysis["variables"]]))
    blocks = orjson.loads(orjson.dumps(analysis["blocks"]))
    return {
        **analysis,
        "summary": None if least else analysis["summary"],
        "scores": None if least or scores is None else [*map(anonymity.without_few, scores)],
        "variables": [] if least else [*map(without_texts, variables)],
        "blocks": [
            in_totals(block, least=least_answers(block, least=least, conditional_ids=conditional_ids))
            for block in blocks
        ],
    }


def least_answers(
    block: Mapping[str, Any], *, least: int | None, conditional_ids: Collection[int]
) -> int | None:
    """How many answers the figures of a block need: the project's number, or that of blocks with conditions,
    which answers or fields decide to show (rule 1.153).
    """
    return anonymity.LEAST_ANSWERS if least is None and block["block_id"] in conditional_ids else least


def without_solutions(analysis: AnalysisJson) -> AnalysisJson:
    """The analysis without scores and calculated results, which reveal the correct answers (rule 1.35)."""
    return {**analysis, "scores": None, "variables": []}


def without_texts(variable: Mapping[str, Any]) -> dict[str, Any]:
    """A calculated block's figures without its texts, which are then counted as others, and without numbers
    of few responses.
    """
    if not variable["is_text"]:
        return dict(anonymity.without_few(variable))
    return {
        **variable,
        "distribution": [],
        "other_values": variable["other_values"] + len(variable["distribution"]),
        "other_count": variable["count"],
    }


def without_words(block: Mapping[str, Any]) -> dict[str, Any]:
    """A block without quotes and without AI's words about its texts."""
    if not (text := block["open_text"]):
        return dict(block)
    themes = [{**theme, "description": "", "quotes": []} for theme in text["themes"]]
    return {**block, "open_text": {**text, "summary": None, "themes": themes}}


def in_totals(block: Mapping[str, Any], *, least: int | None) -> dict[str, Any]:
    """A block for readers who may not read single responses: without words, and with figures over at least
    `least` answers.
    """
    block = dict(anonymity.protected(block, least=least))
    if text := block["open_text"]:
        themes = [theme for theme in text["themes"] if anonymity.is_enough(theme["count"], least=least)]
        block["open_text"] = {
            **text,
            "summary": None if least else text["summary"],
            "themes": [{**theme, "description": "", "quotes": []} for theme in themes],
        }
    return block


def _serialize(row: Sequence[Any], blocks: object, scores: object, variables: object) -> AnalysisJson:
    values = dict(zip(_FIELDS, row, strict=True))
    return {
        "id": str(values["id"]),
        "project_id": str(values["project_id"]),
        "status": values["status"],
        "ai": values["with_ai"],
        "covers": values["covers"],
        "progress": values["progress"],
        "created_at": values["created_at"],
        "completed_at": values["completed_at"],
        "completion_count": values["completion_count"],
        "response_count": values["response_count"],
        "credits_used": values["credits_used"],
        "generated_by": values["generated_by"],
        "summary": values["summary"],
        "scores": scores,
        "variables": [] if variables is None else variables,
        "blocks": [] if blocks is None else blocks,
        "error": values["error"],
    }
