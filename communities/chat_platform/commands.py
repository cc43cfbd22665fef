"""The slash commands that the bot offers in a server, as the platform registers them."""

from __future__ import annotations

from typing import Any

_PERIODS = [{"name": "All time", "value": "all"}, {"name": "This month", "value": "month"}]
_COMMANDS: list[dict[str, Any]] = [
    {"name": "surveys", "type": 1, "description": "Surveys and polls that you can answer"},
    {"name": "me", "type": 1, "description": "Your XP, level and achievements"},
]
_LEADERBOARD: dict[str, Any] = {
    "name": "leaderboard",
    "type": 1,
    "description": "Who has the most XP",
    "options": [
        {
            "name": "period",
            "type": 3,
            "description": "Since when XP counts",
            "required": False,
            "choices": _PERIODS,
        }
    ],
}


def of(*, has_leaderboard: bool) -> list[dict[str, Any]]:
    """The commands of a community."""
    return [*_COMMANDS, _LEADERBOARD] if has_leaderboard else list(_COMMANDS)
