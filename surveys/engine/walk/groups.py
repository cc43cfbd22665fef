"""A group of neighbouring questions as one screen of a page (rule 6.134).

Elsewhere they are asked one by one. The conversation's position is at one of these blocks, as always. The
screen begins at the first, and its form answers all of them in their order.
"""

from __future__ import annotations

from collections.abc import Sequence

from surveys.engine.script import PICTURE_FIELDS, Block, Script
from surveys.engine.walk import runner
from surveys.engine.walk.runner import State


def first_state(script: Script, state: State) -> State | None:
    """The state at the first shown question of the current group; None if the current block is asked alone.

    A group is not drawn as one screen if any of its blocks has a picture, feedback, or an option with a text,
    or if an answer in it may show a question that is hidden beforehand.
    """
    if state.at >= len(script.blocks) or not script.blocks[state.at].group:
        return None
    first, end = _bounds(script, state.at)
    if not all(map(_fits, script.blocks[first:end])):
        return None
    passed = 0
    for block_id in reversed(state.path):
        if not first <= script.index_by_id[block_id] < end:
            break
        passed += 1
    begun = runner.state_at_step(script, state, len(state.path) - passed) if passed else state
    known = runner.path_values(script, begun)
    asked = script.blocks[begun.at : end]
    hidden = [block for block in asked if known.hides(block)]
    if not all(known.is_decided(block.precondition or "", range(begun.at)) for block in hidden):
        return None  # a row that appears between others would be missing in the form
    return begun if len(asked) - len(hidden) > 1 and asked[0] not in hidden else None


def rows(script: Script, begun: State) -> Sequence[Block]:
    """The questions that the screen shows: those that are not hidden before any of them is answered."""
    _, end = _bounds(script, begun.at)
    known = runner.path_values(script, begun)
    return [block for block in script.blocks[begun.at : end] if not known.hides(block)]


def first_index(script: Script, block: Block) -> int:
    """The index of the first block of the screen that asks a block: of its group, else its own."""
    at = script.index_by_id[block.id or 0]
    if not block.group:
        return at
    first, end = _bounds(script, at)
    return first if all(map(_fits, script.blocks[first:end])) else at


def _bounds(script: Script, at: int) -> tuple[int, int]:
    title, first, end = script.blocks[at].group, at, at + 1
    while first and script.blocks[first - 1].group == title:
        first -= 1
    while end < len(script.blocks) and script.blocks[end].group == title:
        end += 1
    return first, end


def _fits(block: Block) -> bool:
    pictures = (getattr(block, key) for key in PICTURE_FIELDS)
    return not (block.when_correct or block.when_incorrect or block.other or any(pictures))
