"""Our schemas in the form of OpenAI's strict mode, in which every property is required.

In strict mode a property that may be missing is null; `json_values` reads null like a missing property.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with every optional property required, and null allowed for it."""
    changed = dict(schema)
    if "anyOf" in schema:
        changed["anyOf"] = [strict(each) for each in schema["anyOf"]]
    if "items" in schema:
        changed["items"] = strict(schema["items"])
    if "properties" in schema:
        required = schema["required"]
        changed["properties"] = {
            name: strict(each) if name in required else {"anyOf": [strict(each), {"type": "null"}]}
            for name, each in schema["properties"].items()
        }
        changed["required"] = list(schema["properties"])
    return changed
