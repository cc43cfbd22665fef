"""Imports a response: matches its answers to the script, and walks through the script with them.

    replay(script, answers, …)    the walk, and all faults of the answers

Answers have the form of exports: one for each chosen option and each ranked item. An answer names its block
by id or name, and its option by id, value or, in a ranking, label. So an export of a project fits a copy of
the project too, although the copy has other ids. Answers that a respondent could not have given are refused.

A partial response may have answers after a question without an answer: its respondent may have stepped back
and changed an answer, which shows a new question before answered ones (rule 6.29).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from communities.ground.sent_text import sent_text
from surveys.engine.language.piping import shortened
from surveys.engine.script import CHOICES, WITH_ITEMS, Block, Option, Script, Violation, title_case
from surveys.engine.walk import answers, counting, presentation, runner
from surveys.engine.walk.answers import SKIPPED, InvalidAnswer, Reply
from surveys.engine.walk.runner import State, Turn

MAX_DIGITS = 4  # of a rank
_NULL = "`value` must not be null. Leave out an answer that was not given."


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One answer in the form of exports. `value` is the option's value, the number, the text, or the rank."""

    block_id: int | None = None
    block_name: str | None = None
    value: str | None = None
    option_id: int | None = None
    label: str | None = None
    is_null: bool = False  # the request has `"value": null`
    other_text: str | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """A walk with all answers. `reached` are the action blocks on the path, each with the state there.

    For a partial response `reached` is empty, because a partial response gives nothing.
    """

    state: State
    reached: Sequence[tuple[Block, State]] = ()


@dataclass(slots=True)
class _Matched:
    """The replies by block id, the index of each one's first answer, and the faults of the answers.

    `of_removed` are the replies to blocks that are no longer in the script.
    """

    replies: dict[int, Reply] = field(default_factory=dict)
    of_removed: dict[int, Reply] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)


def replay(
    script: Script,
    given: Sequence[GivenAnswer],
    *,
    is_completed: bool,
    fields: Mapping[str, str],
    complete_blocks: Mapping[int, Block] = MappingProxyType({}),
    left_out: Set[int] = frozenset(),
) -> tuple[Replay, list[Violation]]:
    """Walk the script with these answers. Returns the walk and the faults; use the walk only without faults.

    A completed response reaches the end; its questions without an answer count as skipped, so they must be
    optional. A partial response walks as far as its answers allow. `fields` are the response's fields.

    `complete_blocks` are the project's blocks, including blocks and options that were removed. Answers to
    removed blocks are stored, as in earlier responses, and do not affect the walk. Answers to the blocks in
    `left_out` are ignored, whatever they contain.
    """
    matched = _match(script, given, complete_blocks, left_out)
    if matched.violations:
        return Replay(State()), matched.violations
    walk, violations = (_completed if is_completed else _partial)(script, matched, fields)
    replies = {**walk.state.replies, **matched.of_removed}
    return replace(walk, state=replace(walk.state, replies=replies)), violations


# --- Matching -------------------------------------------------------------------------------------


def _match(
    script: Script,
    given: Sequence[GivenAnswer],
    complete_blocks: Mapping[int, Block],
    left_out: Set[int],
) -> _Matched:
    matched = _Matched()
    by_block: dict[int, list[tuple[int, GivenAnswer]]] = {}
    for index, answer in enumerate(given):
        if answer.block_id in left_out:
            continue
        try:
            block = _block_of(script, answer, complete_blocks)
        except InvalidAnswer as invalid:
            matched.violations.append(_at(index, invalid.violation))
        else:
            by_block.setdefault(block.id or 0, []).append((index, answer))
    for block_id, rows in by_block.items():
        is_removed = block_id not in script.index_by_id
        block = complete_blocks[block_id] if is_removed else script.blocks[script.index_by_id[block_id]]
        matched.first[block_id] = rows[0][0]
        replies = matched.of_removed if is_removed else matched.replies
        complete = complete_blocks.get(block_id, block)
        if _names_removed_option(block, complete, rows):
            block = complete
        try:
            replies[block_id] = _reply(presentation.effective_block(script, block), rows)
        except _InvalidRow as invalid:
            matched.violations.append(_at(invalid.index, invalid.violation))
    return matched


def _names_removed_option(block: Block, complete: Block, rows: Sequence[tuple[int, GivenAnswer]]) -> bool:
    """Whether an answer has the id of an option that was removed from the block."""
    ids = (answer.option_id for _, answer in rows if answer.option_id is not None)
    return any(each in complete.option_by_id and each not in block.option_by_id for each in ids)


def _at(index: int, violation: Violation) -> Violation:
    return Violation(f"answers[{index}].{violation.field}", violation.code, violation.message)


class _InvalidRow(InvalidAnswer):
    """An invalid answer, with its index among the answers."""

    def __init__(self, index: int, field: str, code: str, message: str) -> None:
        super().__init__(field, code, message)
        self.index = index


def _block_of(script: Script, answer: GivenAnswer, complete_blocks: Mapping[int, Block]) -> Block:
    """The question that an answer names by id, by name, or by both if they agree.

    A removed block is found by id only, because another block may have its name now.
    """
    removed = None if answer.block_id is None else complete_blocks.get(answer.block_id)
    if removed is not None and answer.block_id not in script.index_by_id:
        return removed
    by_id = script.index_by_id.get(answer.block_id) if answer.block_id is not None else None
    by_name = script.index_by_title.get(title_case(answer.block_name)) if answer.block_name else None
    if by_id is not None and by_name is not None and by_id != by_name:
        message = "`block_id` and `block_name` are two different blocks of this script: send one of them."
        raise InvalidAnswer("block_name", "conflicting", message)
    index = by_id if by_id is not None else by_name
    if index is None:
        if answer.block_id is None and not answer.block_name:
            raise InvalidAnswer("block_id", "required", "Name the block by `block_id` or `block_name`.")
        name = "block_id" if answer.block_id is not None else "block_name"
        sent = shortened(answer.block_name or "", 100) if answer.block_id is None else answer.block_id
        raise InvalidAnswer(name, "not_found", f"This script has no block {sent}, by its id or its name.")
    block = script.blocks[index]
    if not block.asks:
        name = "block_id" if by_id is not None else "block_name"
        raise InvalidAnswer(name, "not_allowed", f"`{block.name}` is a block that takes no answer.")
    return block


def _reply(block: Block, rows: Sequence[tuple[int, GivenAnswer]]) -> Reply:
    """The reply that consists of these answers to one block. Raises _InvalidRow."""
    index, first = rows[0]
    other = block.other if block.type in CHOICES else None
    for at, answer in rows:
        if answer.other_text and (other is None or _option_of(block, at, answer) != other.id):
            message = "`other_text` is the text for an option with `is_other`, and this answer names none."
            raise _InvalidRow(at, "other_text", "not_allowed", message)
    if block.type not in ("multi_punch", "ranking") and len(rows) > 1:
        message = f"`{block.name}` has one answer, and this is another one to it."
        raise _InvalidRow(rows[1][0], "value", "too_many", message)
    if block.type not in WITH_ITEMS:
        if first.is_null:
            raise _InvalidRow(index, "value", "null", _NULL)
        if first.value is None:
            raise _InvalidRow(index, "value", "required", "`value` is required.")
        return _parsed(block, index, {"value": first.value})
    if block.type == "ranking":
        return _parsed(block, index, {"ranking": _ranked(block, rows)})
    ids = [_option_of(block, index, answer) for index, answer in rows]
    text = next((answer.other_text for _, answer in rows if answer.other_text), None)
    if block.type == "single_punch":
        return _parsed(block, index, {"option_id": ids[0], "other_text": text})
    return _parsed(block, index, {"option_ids": ids, "other_text": text})


def _parsed(block: Block, index: int, raw: Mapping[str, object]) -> Reply:
    """The reply; one from before an option had `is_other` has no text for it."""
    try:
        return answers.parse(block, raw) if raw.get("other_text") else answers.parse_choice(block, raw)
    except InvalidAnswer as invalid:
        found = invalid.violation
        name = found.field if found.field in ("value", "option_id", "other_text") else "block_id"
        raise _InvalidRow(index, name, found.code, found.message) from None


def _ranked(block: Block, rows: Sequence[tuple[int, GivenAnswer]]) -> list[int]:
    """The ids of the ranked items, best first: `value` is the rank of each."""
    by_rank: dict[int, int] = {}
    for index, answer in rows:
        text = sent_text(answer.value or "")
        rank = int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else 0
        if not 1 <= rank <= len(rows):
            message = f"The `value` of a ranked item is its rank, here from 1 to {len(rows)}."
            raise _InvalidRow(index, "value", "invalid", message)
        if rank in by_rank:
            raise _InvalidRow(index, "value", "duplicate", f"Two items have the rank {rank}.")
        by_rank[rank] = _option_of(block, index, answer)
    return [by_rank[rank] for rank in sorted(by_rank)]


def _option_of(block: Block, index: int, answer: GivenAnswer) -> int:
    """The id of the option that an answer names, by its id or its text."""
    by_id = block.option_by_id.get(answer.option_id) if answer.option_id is not None else None
    name, text = ("value", answer.value) if block.type in CHOICES else ("label", answer.label)
    by_text = _options_called(block, text)
    if by_id is not None and by_text and by_id not in by_text:
        message = f"`option_id` and `{name}` are two different options of `{block.name}`: send one of them."
        raise _InvalidRow(index, name, "conflicting", message)
    if by_id is not None:
        return by_id.id or 0
    if len(by_text) > 1:
        message = f"`{block.name}` has more than one option with this `{name}`: send `option_id`."
        raise _InvalidRow(index, name, "conflicting", message)
    if not by_text:
        if answer.option_id is None and answer.is_null and block.type in CHOICES:
            raise _InvalidRow(index, "value", "null", _NULL)
        if answer.option_id is None and text is None:
            message = f"Name the option of `{block.name}` by `option_id` or `{name}`."
            raise _InvalidRow(index, "option_id", "required", message)
        message = f"`{block.name}` has no such option, by its `option_id` or its `{name}`."
        raise _InvalidRow(index, name if answer.option_id is None else "option_id", "not_found", message)
    return by_text[0].id or 0


def _options_called(block: Block, text: str | None) -> list[Option]:
    """The options of a choice with this value; of a ranking, the items with this label, else this value."""
    if text is None:
        return []
    text = sent_text(text)
    by_value = [option for option in block.options if option.value == text]
    if block.type in CHOICES:
        return by_value
    return [option for option in block.options if option.display_text == text] or by_value


# --- Walking --------------------------------------------------------------------------------------


def _completed(
    script: Script, matched: _Matched, fields: Mapping[str, str]
) -> tuple[Replay, list[Violation]]:
    walk = runner.Walk(script, State(fields=fields))
    turn = walk.forward()
    waiting, reached = set(matched.replies), list[tuple[Block, State]]()
    while turn.show is not None and not turn.completes:
        block = turn.show
        if block.action_kind is not None:
            reached.append((block, turn.state))
        if not block.asks:
            turn = walk.proceed()
            continue
        reply = matched.replies.get(block.id or 0)
        if reply is None and presentation.effective_block(script, block).required:
            message = f"The response is completed, but `{block.name}` needs an answer and has none."
            return Replay(turn.state), [Violation("answers", "required", message)]
        waiting.discard(block.id or 0)
        turn = walk.answer(SKIPPED if reply is None else reply)
    return Replay(turn.state, reached), list(_hidden(script, matched, waiting))


def _hidden(script: Script, matched: _Matched, hidden: set[int]) -> Iterator[Violation]:
    for block_id in sorted(hidden, key=lambda each: matched.first[each]):
        name = script.blocks[script.index_by_id[block_id]].name
        message = f"With the other answers, a respondent does not come to `{name}`."
        yield _at(matched.first[block_id], Violation("block_id", "not_allowed", message))


def _partial(script: Script, matched: _Matched, fields: Mapping[str, str]) -> tuple[Replay, list[Violation]]:
    """The walk to the first question without an answer. All answers are stored; none may be hidden."""
    if not any(map(answers.is_answer, (*matched.replies.values(), *matched.of_removed.values()))):
        message = "A response that is not completed has at least one answer."
        return Replay(State()), [Violation("answers", "required", message)]
    last = _after_last_answer(script, matched, fields)
    if last.completes and script.is_poll:
        message = "With this vote the response is completed: `status` must be `completed`."
        return Replay(last.state), [Violation("status", "conflicting", message)]
    state = last.state
    if last.completes and runner.can_go_back(state):  # without that answer the last question is open
        state = runner.back(script, state).state
    state = counting.settled(script, replace(state, replies={**matched.replies, **state.replies}))
    return Replay(state), list(_hidden(script, matched, set(state.left)))


def _after_last_answer(script: Script, matched: _Matched, fields: Mapping[str, str]) -> Turn:
    """The turn after the last answer before the first required question without an answer."""
    walk = runner.Walk(script, State(fields=fields))
    turn = last = walk.forward()
    waiting = set(matched.replies)
    while waiting and turn.show is not None and not turn.completes:
        block = turn.show
        if not block.asks:
            turn = walk.proceed()
            continue
        reply = matched.replies.get(block.id or 0)
        if reply is None and presentation.effective_block(script, block).required:
            break
        turn = walk.answer(SKIPPED if reply is None else reply)
        if reply is not None:
            waiting.discard(block.id or 0)
            last = turn
    return last
