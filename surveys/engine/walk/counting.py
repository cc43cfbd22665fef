"""Which replies of a conversation count: those whose blocks the other replies do not hide (rule 6.29).

    settled(script, state)         the state after a move, with an updated `left`
    looked_ahead(script, state)    the state after all replies that count, for scores and results

On a straight walk all replies are on the path, and nothing is computed here.
"""

from __future__ import annotations

from dataclasses import replace

from surveys.engine.script import CALCULATED, Script
from surveys.engine.walk import answers
from surveys.engine.walk.runner import State, calculate, path_values, results_before


def settled(script: Script, state: State) -> State:
    """The state after a move, with an updated `left`.

    A reply in `left` counts again when its block becomes visible, if it still fits. Replies to removed blocks
    do not change.
    """
    passed = frozenset(looked_ahead(script, state).path)
    if not state.left and passed.issuperset(state.replies):
        return state
    left = (
        block_id
        for block_id in state.replies
        if (block_id not in passed if block_id in script.index_by_id else block_id in state.left)
    )
    return replace(state, left=frozenset(left))


def looked_ahead(script: Script, state: State) -> State:
    """The state after all replies that count, including replies to blocks after the current one.

    Such replies exist after a step back. The path of the state includes each later block that has a reply and
    is visible with the replies before it. A question without a reply has no value and hides nothing.
    """
    index, on_path = script.index_by_id, frozenset(state.path)
    ahead = [index[block_id] for block_id in state.replies if block_id in index and block_id not in on_path]
    end = max(ahead, default=-1) + 1
    if end <= state.at:
        return state
    results = results_before(script, state, state.at)
    known, path = path_values(script, replace(state, results=results)), list(state.path)
    for block in script.blocks[state.at : end]:
        reply = state.replies.get(block.id or 0)
        if (reply is None and block.type != CALCULATED) or known.hides(block):
            continue
        if block.type == CALCULATED:
            calculate(block, results, known)
        elif reply is not None and (block.id not in state.left or answers.fits(block, reply)):
            path.append(block.id or 0)
            known.pass_block(block.id or 0, reply)
    return replace(state, at=end, path=tuple(path), results=results)
