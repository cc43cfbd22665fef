"""A survey of every block type, with skip logic, to walk through in a browser."""

from __future__ import annotations

from typing import Any

from surveys.engine.script import Scale
from surveys.models import Project
from tests.support.surveys import scenario

EVERYTHING: list[dict[str, Any]] = [
    {"type": "content_block", "prompt": "Hello!\nA few questions about your games.", "name": "hello"},
    {
        "type": "single_punch",
        "name": "plays",
        "prompt": "Do you play chess?",
        "options": [{"value": "yes", "label": "Yes", "emoji": "♟"}, {"value": "no", "label": "No"}],
        "required": True,
    },
    {
        "type": "open_text",
        "name": "whynot",
        "prompt": "What keeps you from it?",
        "precondition": 'NOT((Plays = "no"))',
    },
    {
        "type": "multi_punch",
        "name": "places",
        "prompt": "Where do you play?",
        "options": ["Club", "Online", "Park"],
        "min": 1,
        "max": 2,
        "required": True,
    },
    {
        "type": "single_punch",
        "name": "pace",
        "prompt": "How fast?",
        "options": ["Blitz", "Rapid", "Classical"],
        "answer_style": "buttons",
        "required": True,
    },
    {
        "type": "single_punch",
        "name": "mood",
        "prompt": "How did the last game feel?",
        "options": [{"value": "good", "emoji": "☺"}, {"value": "bad", "emoji": "☹"}],
        "answer_style": "emoji_only",
        "required": True,
    },
    {
        "type": "single_punch",
        "name": "month",
        "prompt": "When did you join?",
        "options": ["January", "February", "March"],
        "answer_style": "select_menu",
        "required": True,
    },
    {
        "type": "rating",
        "name": "evenings",
        "prompt": "How are the club evenings?",
        "scale": Scale(label_left="Poor", label_right="Great"),
        "required": True,
    },
    {"type": "opinion_scale", "name": "sure", "prompt": "How sure are your openings?", "min": 1, "max": 7},
    {
        "type": "opinion_scale",
        "name": "agree",
        "prompt": "The rules are clear.",
        "min": 1,
        "max": 3,
        "options": [
            {"value": "1", "label": "Disagree"},
            {"value": "2", "label": "Neither"},
            {"value": "3", "label": "Agree"},
        ],
        "required": True,
    },
    {"type": "nps", "name": "recommend", "prompt": "Would you recommend us?", "required": True},
    {
        "type": "open_numeric",
        "name": "games",
        "prompt": "How many games?",
        "min": 0,
        "max": 99,
        "required": True,
    },
    {
        "type": "ranking",
        "name": "order",
        "prompt": "Put these in order.",
        "options": ["Openings", "Tactics", "Endgames"],
        "rank_top_n": 2,
        "required": True,
    },
    {"type": "action_block", "prompt": "Well done, [plays]!", "name": "done", "action_kind": "give_xp"},
    {"type": "open_text", "name": "wish", "prompt": "Any wish?"},
]


def everything(**fields: Any) -> Project:
    return scenario.project(*EVERYTHING, **{"name": "How do you play?", **fields})
