"""Examples of analyses for the OpenAPI description."""

from __future__ import annotations

from typing import Any

_PLAIN: dict[str, Any] = {
    "is_archived": False,
    "distribution": None,
    "stats": None,
    "histogram": None,
    "ranking": None,
    "nps": None,
    "open_text": None,
}
PENDING: dict[str, Any] = {
    "id": "12",
    "project_id": "7",
    "status": "pending",
    "ai": True,
    "covers": "all",
    "progress": 0.0,
    "created_at": "2026-01-31T09:45:00Z",
    "completed_at": None,
    "completion_count": 3,
    "response_count": 5,
    "credits_used": 1,
    "generated_by": None,
    "summary": None,
    "scores": None,
    "variables": [],
    "blocks": [],
    "error": None,
}
COMPLETED: dict[str, Any] = {
    **PENDING,
    "status": "completed",
    "progress": 1.0,
    "completed_at": "2026-01-31T09:45:09Z",
    "generated_by": "anthropic",
    "summary": "Three people answered. Two of them open with neither e4 nor d4, and both name the English.",
    "blocks": [
        {
            **_PLAIN,
            "block_id": 41,
            "block_name": "first_move",
            "block_type": "single_punch",
            "prompt": "Which first move do you prefer?",
            "position": 0,
            "response_count": 3,
            "drop_off": {"left": 0, "percentage": 0.0},
            "distribution": [
                {"option_id": 310, "value": "e4", "label": None, "count": 1, "percentage": 33.33},
                {"option_id": 312, "value": "other", "label": "Another one", "count": 2, "percentage": 66.67},
            ],
        },
        {
            **_PLAIN,
            "block_id": 42,
            "block_name": "q1",
            "block_type": "open_text",
            "prompt": "Which one?",
            "position": 1,
            "response_count": 2,
            "drop_off": {"left": 0, "percentage": 0.0},
            "open_text": {
                "summary": "Both name the English, one of them with delight.",
                "themes": [
                    {
                        "title": "The English",
                        "description": "1. c4 in any of its forms.",
                        "count": 2,
                        "percentage": 100.0,
                        "sentiment": "positive",
                        "quotes": ["I love the English"],
                    }
                ],
                "sentiment": {"positive": 1, "neutral": 1, "negative": 0},
                "answer_count": 2,
                "analysed_count": 2,
            },
        },
    ],
}
FAILED: dict[str, Any] = {
    **PENDING,
    "status": "failed",
    "progress": 0.4,
    "credits_used": 0,
    "error": "The AI provider is overloaded. Please try again later.",
}

QUESTION_SENT = {"question": "How do people rate the last evening?"}
ANSWERED: dict[str, Any] = {
    "question": "How do people rate the last evening?",
    "answer": "They rate it 4.2 of 5 on average, in 63 answers.",
    "claims": [
        {
            "text": "They rate it 4.2 of 5 on average, in 63 answers.",
            "references": ["b12.mean", "b12.count"],
        }
    ],
    "figures": [
        {"reference": "b12.count", "text": "Answers to “How was the last evening?”", "value": "63"},
        {
            "reference": "b12.mean",
            "text": "Average of “How was the last evening?” (1 to 5)",
            "value": "4.21",
        },
    ],
    "can_be_told": True,
    "generated_by": "anthropic",
    "credits_used": 1,
}
