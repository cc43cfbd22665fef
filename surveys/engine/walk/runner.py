"""The walk through a script: a state and an answer come to the next state and what to show.

The walk goes forward one block at a time. What conditions see at a block are the answers to the blocks
on the path to it, so a walk with steps back ends where a straight walk with the final answers ends.
Answers given before a step back are kept, to be offered again, but count only once their block is
passed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

from surveys.engine.language import expressions, formulas, names, piping, references
from surveys.engine.language.expressions import Value
from surveys.engine.language.names import COUNTS
from surveys.engine.language.values import number_text
from surveys.engine.script import CALCULATED, Block, Script
from surveys.engine.walk import answers, scoring
from surveys.engine.walk.answers import Reply


@dataclass(frozen=True, slots=True)
class State:
    """Where a conversation stands.

    `at` is the index of the current block, the number of blocks at the end. `path` holds the ids of the
    blocks that were shown before it, in order. `replies` are by block id and may hold some off the path.
    `results` are what the calculated blocks before it came to, in the form of replies. `fired` are the
    actions that this conversation set off, with the XP that each gave; they stay when a step back is taken.
    """

    at: int = 0
    path: tuple[int, ...] = ()
    replies: Mapping[int, Reply] = field(default_factory=dict)
    results: Mapping[int, Reply] = field(default_factory=dict)
    fired: Mapping[int, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        told: dict[str, object] = {
            "at": self.at,
            "path": list(self.path),
            "answers": {str(k): v for k, v in self.replies.items()},
        }
        if self.results:
            told["results"] = {str(k): v for k, v in self.results.items()}
        if self.fired:
            told["fired"] = {str(k): v for k, v in self.fired.items()}
        return told

    @classmethod
    def from_json(cls, raw: Mapping[str, object]) -> State:
        path = raw.get("path") or []
        assert isinstance(path, list)
        return cls(
            at=int(str(raw.get("at", 0))),
            path=tuple(path),
            replies=_by_id(raw.get("answers")),
            results=_by_id(raw.get("results")),
            fired=_by_id(raw.get("fired")),
        )


def _by_id(raw: object) -> dict[int, Any]:
    """JSON has no numbers as keys."""
    if not raw:
        return {}
    assert isinstance(raw, dict)
    return {int(block_id): each for block_id, each in raw.items()}


@dataclass(frozen=True, slots=True)
class Turn:
    """What one move comes to. Nothing to show means that the end is reached.

    `completes` is true on the move that ends the conversation: reaching the end, or a poll's vote.
    `feedback` is the text, tokens not yet filled, that a graded answer earned.
    """

    state: State
    show: Block | None
    completes: bool = False
    feedback: str | None = None


def begin(script: Script) -> Turn:
    return _forward(script, State())


def current_block(script: Script, state: State) -> Block | None:
    """The block that waits for the respondent, or None at the end."""
    return script.blocks[state.at] if state.at < len(script.blocks) else None


def answer(script: Script, state: State, reply: Reply) -> Turn:
    """Take a reply to the current block, which asks, and go on to what is shown next."""
    block = script.blocks[state.at]
    assert block.id is not None
    taken = replace(
        state,
        at=state.at + 1,
        path=(*state.path, block.id),
        replies={**state.replies, block.id: reply},
    )
    turn = _forward(script, taken)
    return replace(
        turn,
        completes=turn.completes or script.is_poll,
        feedback=feedback(script, block, reply),
    )


def proceed(script: Script, state: State) -> Turn:
    """Leave the current block, which only states, and go on to what is shown next."""
    block = script.blocks[state.at]
    assert block.id is not None
    return _forward(script, replace(state, at=state.at + 1, path=(*state.path, block.id)))


def back(script: Script, state: State) -> Turn:
    """One shown step back. Raises LookupError at the first step."""
    if not can_go_back(state):
        raise LookupError("This is the first step.")
    before = state_at_step(script, state, len(state.path) - 1)
    return Turn(before, show=script.blocks[before.at])


def can_go_back(state: State) -> bool:
    return bool(state.path)


def state_at_step(script: Script, state: State, step: int) -> State:
    """The state as it was when the block was shown that is the `step`th of the path, counted from 0."""
    at = script.index_by_id[state.path[step]]
    return replace(state, at=at, path=state.path[:step], results=_results_before(script, state, at))


def realign(script: Script, state: State) -> State:
    """Where a conversation stands in a script that was written anew since: never further than it was.

    Its steps are walked again with its replies, up to the first block that it had not passed or whose
    reply no longer fits. Replies to blocks that are gone are kept.
    """
    passed = frozenset(state.path)
    turn = _forward(script, replace(state, at=0, path=()))
    while turn.show is not None and turn.show.id in passed:
        if turn.show.asks:
            reply = state.replies.get(turn.show.id)
            if reply is None or not answers.fits(turn.show, reply):
                break
            turn = answer(script, turn.state, reply)
        else:
            turn = proceed(script, turn.state)
    return turn.state


def completed_state(script: Script, state: State) -> State:
    """A conversation that is over, in a script that was written anew since: what was added asks no more."""
    path = tuple(block_id for block_id in state.path if block_id in script.index_by_id)
    at = len(script.blocks)
    return replace(state, at=at, path=path, results=_results_before(script, state, at))


def latest_reply(script: Script, state: State) -> tuple[Block, Reply] | None:
    """The question that was passed last, with what was replied, a skip too."""
    for block_id in reversed(state.path):
        block, reply = script.blocks[script.index_by_id[block_id]], state.replies.get(block_id)
        if block.asks and reply is not None:  # there is none where it did not ask at that time
            return block, reply
    return None


def hidden_replies(script: Script, state: State) -> Iterator[tuple[Block, Reply]]:
    """Replies to blocks of this script that the path does not lead through: what completion drops."""
    on_path = frozenset(state.path)
    for block_id, reply in state.replies.items():
        if block_id not in on_path and block_id in script.index_by_id:
            yield script.blocks[script.index_by_id[block_id]], reply


def feedback(script: Script, block: Block, reply: Reply) -> str | None:
    """What a graded answer earns to hear, its tokens not yet filled in."""
    if not script.scoring_enabled:
        return None
    match answers.is_correct(block, reply):
        case True:
            return block.when_correct
        case False:
            return block.when_incorrect
    return None


def progress(script: Script, state: State) -> float:
    """How far along the script the conversation is, 0 to 1, counted in blocks."""
    return round(state.at / len(script.blocks), 4) if script.blocks else 1.0


def answers_on_path(script: Script, state: State) -> Iterator[tuple[Block, Reply]]:
    """The answered blocks on the path with their replies, in script order: what counts as answered."""
    for block_id in state.path:
        reply = state.replies.get(block_id)
        if reply is not None and answers.is_answer(reply):
            yield script.blocks[script.index_by_id[block_id]], reply


def values(script: Script, state: State) -> Callable[[str], Value]:
    """What a name in an expression stands for, at this point of the walk.

    What was calculated counts there with as many digits as formulas compare.
    """

    def result_of(block: Block) -> Value:
        result = _result(state, block)
        return formulas.rounded(result) if isinstance(result, Decimal) else result

    return _values(script, state, result_of)


def _values(script: Script, state: State, result_of: Callable[[Block], Value]) -> Callable[[str], Value]:
    """`values`, with what a calculated block came to as `result_of` has it.

    Scores are summed up when the first is asked for. Results are looked at each time: a walk adds to them.
    """
    on_path = frozenset(state.path)
    scores: Mapping[str, Decimal] | None = None

    def value_of(name: str) -> Value:
        nonlocal scores
        found = references.resolve(name, script)
        if isinstance(found, int):
            block = script.blocks[found]
            if block.type == CALCULATED:
                return result_of(block)
            return answers.value(block, state.replies.get(block.id or 0)) if block.id in on_path else None
        if found == "answer":
            latest = _latest(script, state)
            return answers.value(*latest) if latest else None
        if found is None:
            return None
        if scores is None:
            scores = score_variables(script, state)
        return scores.get(found)

    return value_of


def _result(state: State, block: Block) -> Value:
    """What a calculated block came to, in all its digits; None where it was not reached, or was hidden."""
    return answers.value(block, state.results.get(block.id or 0))


def score_variables(script: Script, state: State) -> Mapping[str, Decimal]:
    """The score variables over the blocks that were shown so far (decisions 7.4)."""
    blocks = (script.blocks[script.index_by_id[block_id]] for block_id in state.path)
    return scoring.variables(script, ((block, state.replies.get(block.id or 0)) for block in blocks))


def fill(script: Script, state: State, text: str, token_values: Mapping[str, str]) -> str:
    """A prompt or feedback with its tokens filled in.

    `token_values` holds what the engine cannot know, by lower-case token (`username`). A token that nothing
    defines stays as it is written; that of a block without an answer is empty (decisions 6.10, 14.19).
    Score tokens stay too where scoring was enabled after the script was written (interface 2.3, rule 1).
    """
    if "[" not in text:
        return text
    on_path = frozenset(state.path)
    value_of = values(script, state)

    def text_of(token: str) -> str | None:
        if (known := token_values.get(token.lower())) is not None:
            return known
        found = references.resolve(token, script)
        if isinstance(found, int):
            block = script.blocks[found]
            if block.type == CALCULATED:
                return _in_words(value_of(token))
            return (
                answers.display_text(block, state.replies.get(block.id or 0)) if block.id in on_path else ""
            )
        if found == "answer":
            latest = _latest(script, state)
            return answers.display_text(*latest) if latest else ""
        if found is None or not (script.is_scored or found in COUNTS):
            return None
        return _in_words(value_of(found))

    return piping.fill(text, text_of)


def _forward(script: Script, state: State) -> Turn:
    """Walk past what is hidden or only computed, and stop at what the respondent sees."""
    results = _results_before(script, state, state.at)
    state = replace(state, results=results)
    value_of = values(script, state)
    exact_value_of = _values(script, state, partial(_result, state))  # both see what `results` gets
    for index in range(state.at, len(script.blocks)):
        block = script.blocks[index]
        if _is_hidden(block, value_of):
            continue
        if block.type == CALCULATED:
            results[block.id or 0] = _calculated(script, block, exact_value_of)
            continue
        return Turn(replace(state, at=index), show=block)
    return Turn(replace(state, at=len(script.blocks)), show=None, completes=True)


def _results_before(script: Script, state: State, at: int) -> dict[int, Reply]:
    """What was calculated before the block at an index; what lies behind it is calculated anew."""
    index = script.index_by_id
    return {block_id: result for block_id, result in state.results.items() if index.get(block_id, at) < at}


def _calculated(script: Script, block: Block, value_of: Callable[[str], Value]) -> Reply:
    """What a formula comes to here, in the form of a reply."""
    result = formulas.parse(block.calculated_formula or "").evaluate(value_of, _called(script))
    return {"text": result} if isinstance(result, str) else {"number": format(result, "f")}


def _called(script: Script) -> Callable[[str], str]:
    """What `argmax` calls a variable: the name of its bucket, else of its block, else as it is written."""

    def name_of(variable: str) -> str:
        for bucket in script.buckets:
            if variable in names.bucket_variables(bucket.key):
                return bucket.name
        found = references.resolve(variable, script)
        return script.blocks[found].name or variable if isinstance(found, int) else variable

    return name_of


def _in_words(value: Value) -> str:
    """A calculated value or a score as a reader sees it; nothing for none."""
    return number_text(value) if isinstance(value, Decimal) else str(value or "")


def _is_hidden(block: Block, value_of: Callable[[str], Value]) -> bool:
    return block.precondition is not None and expressions.parse(block.precondition).holds(value_of)


def _latest(script: Script, state: State) -> tuple[Block, Reply] | None:
    """The last answered block on the path, with its reply."""
    for block_id in reversed(state.path):
        reply = state.replies.get(block_id)
        if reply is not None and answers.is_answer(reply):
            return script.blocks[script.index_by_id[block_id]], reply
    return None
