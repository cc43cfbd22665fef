"""The characters that ask the questions, by `presentation.interviewer_id` from 1."""

from __future__ import annotations

from collections.abc import Mapping

NAMES = ("Mila", "Jonas", "Amara", "Kenji", "Leyla", "Ingrid")


def number_of(presentation: Mapping[str, object] | None) -> int:
    """The number of a project's interviewer, from 1.

    Ids beyond the last one start again at 1; 1 if none is chosen.
    """
    wanted = (presentation or {}).get("interviewer_id")
    return (wanted - 1) % len(NAMES) + 1 if isinstance(wanted, int) else 1


def name_of(presentation: Mapping[str, object] | None) -> str:
    """The name of a project's interviewer."""
    return NAMES[number_of(presentation) - 1]
