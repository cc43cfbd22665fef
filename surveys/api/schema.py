"""Adds what drf-spectacular cannot infer: the schemas of scripts, which the engine parses, and of events."""

from __future__ import annotations

from typing import Any

from surveys.api import blocks, events


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Post-processing hook of drf-spectacular: add Script, Block, their parts, and events."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(blocks.components() | events.components())
    result["webhooks"] = events.operations()
    return result
