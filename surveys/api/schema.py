"""What drf-spectacular cannot see for itself: the shapes of a script, which the engine reads, and events."""

from __future__ import annotations

from typing import Any

from surveys.api import blocks, events


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook: Script, Block and their parts; what webhooks are told."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(blocks.components() | events.components())
    result["webhooks"] = events.described()
    return result
