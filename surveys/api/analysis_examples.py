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
