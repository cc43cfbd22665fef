"""Placeholders in drafts: texts that only the author can write, marked by ⟦ and ⟧ (rule 10.47)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from surveys.engine.script import Block

_MARK = "⟦"


def is_marked(text: str) -> bool:
    """Whether a text is a placeholder, or has one in it."""
    return _MARK in text


def texts_of(block: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a block in which a placeholder can be, of a block as clients send it."""
    yield str(block.get("prompt") or "")
    yield from (str(option.get("value") or "") for option in block.get("options") or ())


def first_with_placeholder(blocks: Iterable[Block]) -> Block | None:
    """The first block that its author must complete before anybody can answer."""
    for block in blocks:
        if any(map(is_marked, (block.prompt, *(option.display_text for option in block.options)))):
            return block
    return None
