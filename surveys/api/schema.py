"""What drf-spectacular cannot infer: the shapes of scripts, which the engine parses, and events."""

from __future__ import annotations

from typing import Any

from surveys.api import blocks, events


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook: adds Script, Block and their parts, and events."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(blocks.components() | events.components())
    result["webhooks"] = events.operations()
    return result
