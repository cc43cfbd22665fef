"""Examples of results and analyses for the OpenAPI description."""

from __future__ import annotations

from typing import Any

_NONE: dict[str, Any] = {
    "distribution": None,
    "stats": None,
    "histogram": None,
    "ranking": None,
    "nps": None,
}
_NO_SPREAD = dict.fromkeys(("lower_quartile", "median", "upper_quartile", "standard_deviation"))
BLOCKS: list[dict[str, Any]] = [
    {
        "block_id": 41,
        "block_name": "first_move",
        "block_type": "single_punch",
        "prompt": "Which first move do you prefer?",
        "position": 0,
        "is_archived": False,
        "drop_off": {"left": 2, "percentage": 5.0},
        "response_count": 38,
        **_NONE,
        "distribution": [
            {"option_id": 310, "value": "e4", "label": None, "count": 21, "percentage": 55.26},
            {"option_id": 312, "value": "other", "label": "Another one", "count": 17, "percentage": 44.74},
        ],
        "open_text": None,
    },
    {
        "block_id": 42,
        "block_name": "q1",
        "block_type": "open_text",
        "prompt": "Which one?",
        "position": 1,
        "is_archived": False,
        "drop_off": {"left": 0, "percentage": 0.0},
        "response_count": 17,
        **_NONE,
        "open_text": {
            "summary": None,
            "themes": [
                {
                    "title": "English Opening",
                    "description": "Openings with c4.",
                    "count": 9,
                    "percentage": 56.25,
                    "sentiment": "neutral",
                    "quotes": [],
                }
            ],
            "sentiment": {"positive": 4, "neutral": 11, "negative": 1},
            "answer_count": 17,
            "analysed_count": 16,
        },
    },
]
DASHBOARD: dict[str, Any] = {
    "title": "Members in the north",
    "block_ids": [112, 101],
    "where": 'field.region = "north"',
    "weight_by": "field.weight",
    "is_shared": True,
}
RESULTS: dict[str, Any] = {
    "project_id": "7",
    "filters": {
        "where": None,
        "status": "all",
        "submitted_after": None,
        "submitted_before": None,
        "provider": None,
        "suspected": None,
        "fields": {"campaign": "mail"},
    },
    "conversation_count": 38,
    "completion_count": 38,
    "response_count": 55,
    "weighting": None,
    "segment_by": None,
    "scores": [
        {
            "key": "score",
            "name": "Score",
            "count": 38,
            "mean": 1.5526315789473684,
            "min": 1,
            "lower_quartile": 1,
            "median": 2,
            "upper_quartile": 2,
            "standard_deviation": 0.5038966228735666,
            "max": 2,
            "distribution": [
                {"value": 1, "from": None, "to": None, "count": 17, "percentage": 44.74},
                {"value": 2, "from": None, "to": None, "count": 21, "percentage": 55.26},
            ],
            "max_score": 2,
            "score_correct": None,
        }
    ],
    "variables": [
        {
            "block_id": 43,
            "name": "level",
            "is_text": True,
            "count": 38,
            "mean": None,
            "min": None,
            **_NO_SPREAD,
            "max": None,
            "distribution": [
                {"value": "expert", "from": None, "to": None, "count": 21, "percentage": 55.26},
                {"value": "beginner", "from": None, "to": None, "count": 17, "percentage": 44.74},
            ],
            "other_values": 0,
            "other_count": 0,
        }
    ],
    "fields": [
        {
            "name": "campaign",
            "count": 38,
            "distribution": [
                {"option_id": None, "value": "mail", "label": None, "count": 38, "percentage": 100.0},
                {"option_id": None, "value": "", "label": "Not given", "count": 0, "percentage": 0.0},
            ],
            "other_count": 0,
            "other_values": 0,
        }
    ],
    "blocks": BLOCKS,
}


def _cell(count: int, row: float, column: float, all_: float, differs: str | None) -> dict[str, Any]:
    return {
        "count": count,
        "row_percentage": row,
        "column_percentage": column,
        "percentage": all_,
        "differs": differs,
    }


def _crossed(block_id: int, name: str, prompt: str, segments: list[tuple[int, str, int]]) -> dict[str, Any]:
    return {
        "by": str(block_id),
        "title": prompt,
        "block_id": block_id,
        "block_name": name,
        "prompt": prompt,
        "field": None,
        "is_multiple": False,
        "segments": [
            {
                "option_id": option_id,
                "value": value,
                "label": None,
                "count": count,
                "percentage": float(count),
            }
            for option_id, value, count in segments
        ],
    }


CROSS_TABLE: dict[str, Any] = {
    "project_id": "1",
    "filters": RESULTS["filters"],
    "rows": _crossed(12, "Plan", "Which plan?", [(41, "Free", 60), (42, "Paid", 40)]),
    "columns": _crossed(13, "Again", "Would you come again?", [(51, "Yes", 55), (52, "No", 45)]),
    "count": 100,
    "cells": [
        [_cell(25, 41.67, 45.45, 25.0, "less"), _cell(35, 58.33, 77.78, 35.0, "more")],
        [_cell(30, 75.0, 54.55, 30.0, "more"), _cell(10, 25.0, 22.22, 10.0, "less")],
    ],
    "test": {
        "name": "chi-squared test with Yates' correction",
        "p": 0.0021,
        "statistic": 9.47,
        "degrees_of_freedom": 1,
        "effect": 0.33,
        "is_beyond_chance": True,
        "text": "The rows differ beyond chance (chi-squared test with Yates' correction, 1 degree of "
        "freedom, p = 0.002). The association is moderate (Cramér's V = 0.33).",
    },
    "tested_cells": 1,
    "notes": [],
    "weighting": None,
}
