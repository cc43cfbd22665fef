"""Names of blocks in messages to the author: the number and the beginning of the text, never an automatic
name.

in_words(block, 3)    block 3, “What do you play?”
"""

from __future__ import annotations

from surveys.engine.script import Block

_EXCERPT = 40  # characters of a prompt


def in_words(block: Block, number: int) -> str:
    """The block as number `number` of its script, counted from 1, with the beginning of its prompt."""
    return f"block {number}, {excerpt(block.prompt)}" if block.prompt.strip() else f"block {number}"


def excerpt(text: str) -> str:
    """The beginning of a text, in one line and in quotation marks."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= _EXCERPT else f"“{line[:_EXCERPT].rstrip()}…”"
