"""Blocks of the interface, written briefly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Block = dict[str, Any]
Weights = Mapping[str, float]


def option(value: object, weights: Weights | None = None, label: str | None = None) -> dict[str, Any]:
    """An option; `weights` are its points by bucket key."""
    return {"value": str(value), "label": label, "score_values": weights and dict(weights)}


def choice(name: str, prompt: str, options: Iterable[dict[str, Any]], **more: Any) -> Block:
    return {
        "name": name,
        "type": "single_punch",
        "prompt": prompt,
        "required": True,
        "options": list(options),
        **more,
    }


def scale(name: str, prompt: str, low: int, high: int, **more: Any) -> Block:
    return {"name": name, "type": "opinion_scale", "prompt": prompt, "min": low, "max": high, **more}


def number(name: str, prompt: str, low: int, high: int, **more: Any) -> Block:
    return {"name": name, "type": "open_numeric", "prompt": prompt, "min": low, "max": high, **more}


def says(name: str, prompt: str, **more: Any) -> Block:
    return {"name": name, "type": "content_block", "prompt": prompt, **more}


def computes(name: str, formula: str, **more: Any) -> Block:
    return {"name": name, "type": "calculated_block", "prompt": "", "calculated_formula": formula, **more}


def gives_xp(name: str, prompt: str, **config: Any) -> Block:
    return {
        "name": name,
        "type": "action_block",
        "prompt": prompt,
        "action_kind": "give_xp",
        "action_config": config,
    }


def where(subject: str, op: str, value: object) -> dict[str, Any]:
    """A leaf of a condition; a variable or a position is named with a `$` before it."""
    if subject.startswith("$"):
        return {"variable": subject.removeprefix("$"), "op": op, "value": value}
    return {"block": subject, "op": op, "value": value}
