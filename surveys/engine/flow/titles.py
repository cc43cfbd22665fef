"""Titles of blocks for people: the chosen name, or else the beginning of the text."""

from __future__ import annotations

import re

from surveys.engine.language import markup
from surveys.engine.language.piping import Authored
from surveys.engine.script import Block

MAX_TITLE = 60
_AUTOMATIC = re.compile(r"[Qq][0-9]+")  # the automatic names of blocks without a chosen name


def is_chosen(name: str | None) -> bool:
    """Whether an author has chosen this name."""
    return bool(name) and _AUTOMATIC.fullmatch(name or "") is None


def of_block(block: Block, number: int) -> str:
    """The name or the beginning of the text; `Block 4` for a block with neither."""
    if is_chosen(block.name):
        return block.name or ""
    return shortened(block.prompt) or f"Block {number}"


def shortened(prompt: str) -> str:
    """The beginning of a text, in one line."""
    text = " ".join(markup.plain(Authored(prompt)).split())
    return text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 1].rstrip()}…"
