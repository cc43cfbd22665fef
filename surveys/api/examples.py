"""Examples of projects and scripts for the OpenAPI description, in the form that the service returns."""

from __future__ import annotations

from typing import Any

from surveys.engine.intake.serialization import script_as_json
from surveys.engine.script import Block, Option, Script
from surveys.services.ground import field_groups

SCRIPT_SENT: dict[str, Any] = {
    "blocks": [
        {
            "name": "first_move",
            "type": "single_punch",
            "prompt": "Which first move do you prefer?",
            "options": [{"value": "e4"}, {"value": "d4"}, {"value": "other", "label": "Another one"}],
        },
        {
            "type": "open_text",
            "prompt": "Which one?",
            "show_when": {"block": "first_move", "op": "eq", "value": "other"},
        },
    ]
}
_STORED = Script(
    blocks=(
        Block(
            id=41,
            name="first_move",
            type="single_punch",
            prompt="Which first move do you prefer?",
            options=(
                Option(id=310, value="e4", display_order=0),
                Option(id=311, value="d4", display_order=1),
                Option(id=312, value="other", label="Another one", display_order=2),
            ),
            position=0,
        ),
        Block(
            id=42,
            name="q1",
            type="open_text",
            prompt="Which one?",
            precondition='NOT((first_move = "other"))',
            show_when={"block": "first_move", "op": "eq", "value": "other"},
            position=1,
        ),
    ),
)
SCRIPT: dict[str, Any] = {
    "project_id": "7",
    "revision": 1,
    "blocks": script_as_json(_STORED),
    "warnings": [],
}
BLOCK = SCRIPT["blocks"][0]
INSTRUCTION_SENT = {"instruction": "Ask for the reason in a friendlier way."}
REVISION: dict[str, Any] = {
    "blocks": [
        {name: value for name, value in BLOCK.items() if name != "position"},
        {**SCRIPT["blocks"][1], "prompt": "Which one do you like, and why?"},
    ],
    "changes": [{"block_id": 42, "name": "q1", "change": "changed", "index": 1, "fields": ["prompt"]}],
    "understood": ["The second question asks for the reason in a friendlier way."],
    "unmet": [],
    "generated_by": "anthropic",
    "credits_used": 1,
}

QUESTIONNAIRE_SENT = {
    "format": "text",
    "content": "1. Do you play e4? (yes/no) *\n2. Which openings do you know? (choose all that apply)\n"
    "   - Italian\n   - Other: ____",
}
CONVERTED: dict[str, Any] = {
    "blocks": [
        {
            "type": "single_punch",
            "name": "do_you_play_e4",
            "section": "main",
            "prompt": "Do you play e4?",
            "options": [{"value": "Yes"}, {"value": "No"}],
            "required": True,
        },
        {
            "type": "multi_punch",
            "name": "which_openings_do_you_know",
            "section": "main",
            "prompt": "Which openings do you know?",
            "options": [{"value": "Italian"}, {"value": "Other", "is_other": True}],
            "required": False,
        },
    ],
    "unmet": [],
}

PROJECT: dict[str, Any] = {
    "id": "7",
    "community_id": "1018273645546372819",
    "name": "Opening moves",
    "status": "inactive",
    "info": {
        "type": "convo",
        "created_at": "2026-01-31T09:30:00Z",
        "updated_at": "2026-01-31T09:45:00Z",
        "block_count": 2,
        "is_cloneable": True,
        "author_id": "3",
        "author_name": "Ada",
        "completion_count": 0,
        "response_count": 0,
        "web_url": "https://colloquy.example/s/k3Jq0bXv9TzL",
        "short_url": None,
        "scheduled_open_at": None,
        "results_url": None,
    },
    "settings": {
        "privacy_mode": "transparent",
        "max_completes_per_user": 1,
        "change_poll": None,
        "poll_results_mode": None,
        "reveal_results": None,
        "share_results": False,
        "lock_graded_answers": True,
        "hidden_fields": ["utm_source"],
        "consent": "I agree that the club stores my answers for a year.",
        "max_completes": 500,
        "quotas": [
            {"where": 'first_move = "e4"', "limit": 200, "message": "We have enough players of 1. e4."}
        ],
        "max_begun_per_minute": None,
        "advance_on_choice": True,
        "review": False,
        "end": {"url": "https://example.com/?from=[response_id]", "label": "To the club", "redirect": False},
        "ends": [],
        "keep_responses_days": 365,
        "mail_copy": False,
        "indexed": False,
    },
    "delivery": None,
    "rewards": None,
    "presentation": None,
    "scoring": {"enabled": False, "buckets": []},
    "generation": None,
}
NEW_PROJECT_SENT: dict[str, Any] = {
    "name": "Opening moves",
    "type": "convo",
    "settings": {"max_completes_per_user": 1},
    "script": SCRIPT_SENT,
}
NEW_PROJECT = PROJECT | {"script": SCRIPT, "credits_used": 0}
INTENT_SENT: dict[str, Any] = {
    "name": "After the simul",
    "type": "convo",
    "intent": "Ask our players in 5 questions how they liked the simultaneous exhibition",
}
TEMPLATE_SENT: dict[str, Any] = {"name": "How was it?", "type": "convo", "template": "event-feedback"}
PENDING_PROJECT = PROJECT | {
    "name": "After the simul",
    "generation": {
        "status": "pending",
        "generated_by": "anthropic",
        "error": None,
        "method": "model",
        "confidence": None,
        "understood": [],
        "unmet": [],
    },
    "script": None,
    "credits_used": 1,
}
DELIVERY_SENT: dict[str, Any] = {
    "delivery": {
        "audience": {"participation": "open_web"},
        "closing": {"mode": "scheduled", "time": "2026-03-01T18:00:00Z"},
    }
}
OPEN_PROJECT = PROJECT | {
    "status": "active",
    "delivery": {
        "opening": {"mode": "manual", "time": None},
        "closing": {"mode": "scheduled", "time": "2026-03-01T18:00:00Z"},
        "audience": {
            "participation": "open_web",
            "response_channel": "web",
            "required_role_ids": [],
            "verified_source_ids": [],
        },
        "invitation": None,
    },
}
UPDATE_SENT: dict[str, Any] = {"name": "First moves", "presentation": {"theme_id": 3}}
UPDATED_PROJECT = PROJECT | {
    "name": "First moves",
    "presentation": field_groups.empty("presentation") | {"theme_id": 3},
}
