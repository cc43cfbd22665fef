"""Raw blocks read by the engine."""

from __future__ import annotations

from surveys.engine.intake import reader
from surveys.engine.script import Block
from tests.support.engine.violations import Raw


def read_block(raw: Raw, *, scoring: bool = True) -> Block:
    """The block in a script of one block, which has to be valid."""
    parsed = reader.read_blocks([raw], path="blocks", scoring=scoring)
    assert parsed.violations == []
    return parsed.blocks[0]
