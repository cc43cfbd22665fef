"""Fills in the stored points of a draft that was typed while scoring was off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from surveys.engine.intake.serialization import script_as_json
from surveys.models import Project
from surveys.services.scripts import cache as script_cache

POINTS = "score_values"


def with_stored(project: Project, blocks: Sequence[Any]) -> list[Any]:
    """The blocks with the stored points of all options that do not contain the field for points.

    Options carry `score_values`, null if they have none, only while scoring is on. Otherwise a draft from
    before scoring was turned on would delete the stored points.
    """
    if not project.scoring_enabled:
        return list(blocks)
    script = script_cache.script_of(project)
    stored = {
        option["id"]: option[POINTS]
        for block in script_as_json(script)
        for option in block["options"] or ()  # type: ignore[attr-defined]
    }
    return [_with_stored(block, stored) for block in blocks]


def _with_stored(block: Any, stored: Mapping[int, Any]) -> Any:
    if not (isinstance(block, dict) and isinstance(block.get("options"), list)):
        return block
    options = [
        {**option, POINTS: stored[option["id"]]}
        if isinstance(option, dict)
        and POINTS not in option
        and isinstance(option.get("id"), int)
        and stored.get(option["id"]) is not None
        else option
        for option in block["options"]
    ]
    return {**block, "options": options}
