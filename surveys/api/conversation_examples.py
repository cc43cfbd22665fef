"""Examples of conversations and responses for the OpenAPI description."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from surveys.api.examples import BLOCK
from surveys.engine.walk.defaults import CONTINUE
from surveys.engine.walk.presentation import seen

_ID = "019c1234-5678-7abc-8def-0123456789ab"
_SEEN: dict[str, Any] = seen(deepcopy(BLOCK))

ACTIVE: dict[str, Any] = {
    "id": _ID,
    "project_id": "7",
    "status": "active",
    "outcome": None,
    "session_number": None,
    "feedback": None,
    "step": {
        "block": _SEEN | {"continue": {"after": "click", "pause": None, "label": CONTINUE}},
        "help": None,
        "skip_label": None,
        "answer": None,
        "is_locked": False,
        "follow_up": 0,
        "progress": 0.0,
        "can_go_back": False,
    },
    "thank_you": None,
    "end": None,
    "outro": None,
    "resumed": False,
}
COMPLETED: dict[str, Any] = {
    **ACTIVE,
    "status": "completed",
    "outcome": "completed",
    "session_number": 1,
    "step": None,
    "thank_you": "Thank you for taking part!",
    "end": {"url": "https://example.com/?from=mail", "label": "To the club", "redirect": False},
    "outro": [
        {
            **_SEEN,
            **dict.fromkeys(_SEEN),
            "id": 49,
            "name": "thank_you",
            "section": "outro",
            "type": "content_block",
            "prompt": "Thank you for taking part!",
            "position": 3,
        }
    ],
}
RESPONSE: dict[str, Any] = {
    "id": _ID,
    "project_id": "7",
    "session_number": 1,
    "status": "completed",
    "started_at": "2026-01-31T09:30:00Z",
    "submitted_at": "2026-01-31T09:31:12Z",
    "updated_at": "2026-01-31T09:31:12Z",
    "user_id": "52",
    "platform_id": "customer-42",
    "provider": "web",
    "metadata": {"customer": "C-1042"},
    "consent": {"text": "I agree that the club stores my answers.", "at": "2026-01-31T09:28:00Z"},
    "suspected": False,
    "language": "en",
    "outcome": "completed",
    "scores": {
        "skill": {
            "name": "Skill",
            "score": 3,
            "max_score": 5,
            "score_correct": 2,
            "max_score_correct": 2,
        }
    },
    "variables": {"Level": "Club player"},
    "answers": [
        {
            "block_id": 41,
            "value": "other",
            "option_id": 312,
            "block_name": "first_move",
            "label": "Another one",
        },
        {"block_id": 42, "value": "The English", "option_id": None, "block_name": "q1", "label": None},
    ],
}

TOKEN = {
    "token": "cqt_018f2f6f5b6b7c8e9d0a1b2c3d4e5f60-7-697dcd18.kJ3Qm0vX9TzL5dYw2RnE8uPcA1sF6hGmK4oQ7iJxB0k",
    "conversation_id": "018f2f6f-5b6b-7c8e-9d0a-1b2c3d4e5f60",
    "expires_at": "2026-01-31T10:30:00Z",
}
