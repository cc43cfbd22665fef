"""What drf-spectacular cannot see for itself: the shapes of a script, which the engine reads."""

from __future__ import annotations

from typing import Any

from surveys.api import blocks


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook: Script, Block and their parts."""
    result.setdefault("components", {}).setdefault("schemas", {}).update(blocks.components())
    return result
