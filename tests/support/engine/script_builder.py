"""Scripts for engine tests, written briefly: ids by position, options by their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surveys.engine.script import Block, Option, Script

PICTURE = "https://example.com/a.png"


def block(n: int, raw: Mapping[str, Any]) -> Block:
    """Block `n` (from 0) gets the id n + 1, its options the ids 10 * (n + 1), and so on."""
    fields = dict(raw)
    options = fields.pop("options", [])
    made = [option if isinstance(option, dict) else {"value": option} for option in options]
    if "correct_answer_ids" in fields:
        fields["correct_answer_ids"] = tuple(fields["correct_answer_ids"])
    return Block(
        **{"id": n + 1, "name": f"q{n}", "prompt": f"Prompt {n}.", **fields},
        options=tuple(
            Option(**{"id": 10 * (n + 1) + m, "display_order": m, **o}) for m, o in enumerate(made)
        ),
    )


def script(*blocks: Mapping[str, Any], **fields: Any) -> Any:
    """A Script. Its type is Any, because in tests ids and options are never None."""
    return Script(blocks=tuple(block(n, raw) for n, raw in enumerate(blocks)), **fields)
