"""Which replies of a conversation count: those whose blocks the other replies do not hide (rule 6.29).

    settled(script, state)         the state after a move, with `left` as it is now
    looked_ahead(script, state)    the state behind all replies that count, for scores and results

On a straight walk all replies are on the path, and nothing is computed here.
"""

from __future__ import annotations

from dataclasses import replace

from surveys.engine.script import CALCULATED, Script
from surveys.engine.walk import answers
from surveys.engine.walk.runner import State, calculate, path_values, results_before


def settled(script: Script, state: State) -> State:
    """The state after a move, with `left` as it is now.

    A reply that was left counts again once its block is visible, if it still fits. Replies to removed blocks
    stay what they were.
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
    """The state behind all replies that count, also those that a step back has put ahead of the respondent.

    On its path are the later blocks that have a reply and are visible with the replies before them. A
    question without a reply hides nothing: it has no value.
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
