"""An analysis as the interface tells it (decisions 11.5): the same JSON in answers and in events.

    as_json(analysis)                     from a row that is at hand
    rendered(project_id=…, covers=…, …)   for a read: the blocks as they are kept, passed through
    in_sum(told, least=…)                 for whoever may not read single responses

Until it is completed its blocks are an empty list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from communities.statements import prepared
from surveys.models import Analysis

AnalysisJson = dict[str, Any]

_COUNTED = ("distribution", "stats", "ranking", "nps", "drop_off", "open_text")
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
# By hand: a look at an analysis that is done is one statement of 0.1 ms, however large its blocks are; the
# ORM would take 0.6 ms, and parse what is written out again at once.
_NEWEST = f"""
    SELECT {", ".join(_FIELDS)}, blocks_as_json FROM surveys_analysis
    WHERE project_id = %s AND (%s::varchar IS NULL OR covers = %s::varchar)
        AND (%s::bool IS NULL OR with_ai = %s::bool)
    ORDER BY id DESC LIMIT 1
"""


def as_json(analysis: Analysis) -> AnalysisJson:
    return _told([getattr(analysis, name) for name in _FIELDS], analysis.blocks)


def rendered(*, project_id: int, covers: str | None, with_ai: bool | None) -> AnalysisJson | None:
    """The newest analysis of a project, among those that cover this and are made so; None without any."""
    with prepared() as cursor:
        cursor.execute(_NEWEST, [project_id, covers, covers, with_ai, with_ai])
        row = cursor.fetchone()
    if row is None:
        return None
    return _told(row[:-1], orjson.Fragment(row[-1] or "[]"))


def in_sum(told: AnalysisJson, *, least: int | None) -> AnalysisJson:
    """The same for whoever may not read single responses: without quotes, and what may hold people's words.

    `least` is set for anonymous projects: what fewer answered is withheld there, and so are summaries and the
    lowest and highest number.
    """
    blocks = [_in_sum(block, least) for block in orjson.loads(orjson.dumps(told["blocks"]))]
    return {**told, "blocks": blocks, "summary": None if least else told["summary"]}


def _in_sum(block: dict[str, Any], least: int | None) -> dict[str, Any]:
    if least and block["response_count"] < least:
        return {**block, **dict.fromkeys(("response_count", *_COUNTED))}
    if least and block["block_type"] == "open_numeric" and block["stats"]:
        block["stats"] |= {"min": None, "max": None}
    if text := block["open_text"]:
        text["summary"] = None if least else text["summary"]
        text["themes"] = [
            {**theme, "description": "", "quotes": []}
            for theme in text["themes"]
            if theme["count"] >= (least or 0)
        ]
    return block


def _told(row: Sequence[Any], blocks: object) -> AnalysisJson:
    kept = dict(zip(_FIELDS, row, strict=True))
    return {
        "id": str(kept["id"]),
        "project_id": str(kept["project_id"]),
        "status": kept["status"],
        "ai": kept["with_ai"],
        "covers": kept["covers"],
        "progress": kept["progress"],
        "created_at": kept["created_at"],
        "completed_at": kept["completed_at"],
        "completion_count": kept["completion_count"],
        "response_count": kept["response_count"],
        "credits_used": kept["credits_used"],
        "generated_by": kept["generated_by"],
        "summary": kept["summary"],
        "blocks": blocks,
        "error": kept["error"],
    }
