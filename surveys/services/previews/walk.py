"""The walk of a preview: the engine's own moves on an unsaved script, without a conversation.

walk = begin(source, project)                the first step
walk, feedback = answer(…, walk, raw)        the moves of the real page
walk = proceed(…, walk), back(…, walk)
walk = jump(…, walk, key)                    to a block, with the answers given so far
walk = follow(…, walk)                       after the script was edited
walk = revise(…, walk, block_id), send(…)    from the review of all answers
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from communities.ground.errors import Conflict
from surveys.engine.script import STATEMENTS, Block, Script
from surveys.engine.walk import answers, groups, presentation, runner
from surveys.engine.walk.answers import SKIPPED, Reply
from surveys.engine.walk.runner import State, Turn
from surveys.models import Project
from surveys.services.conversations import effects, ends
from surveys.services.conversations.moves import RowsChanged, parsed
from surveys.services.previews import samples
from surveys.services.previews.source import FIRST_NEW_ID, PreviewScript
from surveys.services.scripts import outro

Json = dict[str, Any]
Until = Callable[[Block], bool]

GRADED = "This answer was graded, so it stays."
NOT_HERE = "This is not the current block of the preview."


@dataclass(frozen=True)
class Walk:
    """The state of a preview. `seed` orders options; `current` is the id of the block that is shown.

    `forced` is a block to which the user jumped although its condition hides it. `names` are the names of
    blocks and options without an id, which identify them once the script is saved.
    """

    state: State
    seed: int
    current: int | None = None
    is_completed: bool = False
    forced: int | None = None
    names: Mapping[int, str] = field(default_factory=dict)

    def as_json(self) -> Json:
        return {
            "state": self.state.as_json(),
            "seed": self.seed,
            "current": self.current,
            "is_completed": self.is_completed,
            "forced": self.forced,
            "names": {str(number): name for number, name in self.names.items()},
        }

    @classmethod
    def from_json(cls, raw: Json) -> Walk:
        names = {int(number): name for number, name in raw["names"].items()}
        return cls(**{**raw, "state": State.from_json(raw["state"]), "names": names})


# --- Moves ------------------------------------------------------------------------------------------


def begin(source: PreviewScript, project: Project, *, seed: int | None = None) -> Walk:
    """The first step. Without a `seed` the order of options is random."""
    seed = secrets.randbits(63) if seed is None else seed
    walk = Walk(State(), seed, names=_names_of(source.script))
    return _after(source, project, walk, runner.begin(source.script))


def answer(
    source: PreviewScript, project: Project, walk: Walk, raw: Mapping[str, object], *, passes: bool = True
) -> tuple[Walk, str | None]:
    """Take an answer (`engine/walk/answers`). Returns the walk, and the feedback with its tokens unfilled.

    After an answer that was changed from the review, the walk passes the blocks up to there again, unless the
    answer has feedback; without `passes` never.

    Raises Conflict if another block is current, and InvalidRequest for an answer that does not fit.
    """
    script = source.script
    state = _at_the_question(source, walk) if script.is_poll else walk.state
    block = runner.current_block(script, state)
    if block is None or block.id != raw["block_id"] or not block.asks:
        raise Conflict(NOT_HERE)
    reply = parsed(presentation.effective_block(script, block), raw)
    if _locked_reply(source, project, state) not in (None, reply):
        raise Conflict(GRADED)
    turn = runner.answer(script, state, reply)
    answered = _after(source, project, walk, ends.ended_early(project, source.script, turn))
    if passes and not turn.feedback:
        answered = _passed(source, project, answered)
    return answered, turn.feedback


def at_group(source: PreviewScript, walk: Walk) -> Walk:
    """The walk at the first question of the current group, which the page shows as one step."""
    begun = groups.first_state(source.script, walk.state)
    return walk if begun is None else replace(walk, state=begun, current=source.script.blocks[begun.at].id)


def answer_group(
    source: PreviewScript, project: Project, walk: Walk, raws: Sequence[Mapping[str, object]]
) -> Walk:
    """Take the answers to a group. Raises like `answer`, or RowsChanged if the form lacks a row."""
    script = source.script
    places = [script.index_by_id[cast(int, raw["block_id"])] for raw in raws]
    walk = at_group(source, walk)
    if walk.state.at != places[0]:
        raise Conflict(NOT_HERE)
    answered = walk
    for place, raw in zip(places, raws, strict=True):
        if answered.state.at < place:
            raise RowsChanged
        if answered.state.at == place:
            answered, _ = answer(source, project, answered, raw, passes=False)
    return _passed(source, project, answered)


def proceed(source: PreviewScript, project: Project, walk: Walk) -> Walk:
    """Move past a block that asks nothing, or whose answer stays.

    Raises Conflict if another block is current, or none.
    """
    block = runner.current_block(source.script, walk.state)
    reply = _locked_reply(source, project, walk.state)
    if block is None or (block.asks and reply is None):
        raise Conflict(NOT_HERE)
    script, state = source.script, walk.state
    turn = runner.proceed(script, state) if reply is None else runner.answer(script, state, reply)
    turn = ends.ended_early(project, script, turn)
    return _passed(source, project, _after(source, project, walk, turn))


def back(source: PreviewScript, project: Project, walk: Walk) -> Walk:
    """Move back by one step, also from the end. Raises Conflict at the first step."""
    try:
        turn = runner.back(source.script, walk.state)
    except LookupError:
        raise Conflict("This is the first step.") from None
    return _after(source, project, replace(walk, is_completed=False), turn)


def revise(source: PreviewScript, project: Project, walk: Walk, block_id: int) -> Walk:
    """From the review back to one question. Raises Conflict for any other block, or elsewhere."""
    if not is_at_review(walk) or block_id not in walk.state.path:
        raise Conflict(NOT_HERE)
    turn = runner.revisit(source.script, walk.state, block_id)
    if _locked_reply(source, project, turn.state) is not None:
        raise Conflict(GRADED)
    return _after(source, project, walk, turn)


def send(source: PreviewScript, project: Project, walk: Walk) -> Walk:
    """Past the review to the end. Raises Conflict elsewhere."""
    if not is_at_review(walk):
        raise Conflict(NOT_HERE)
    return replace(walk, state=_ended(source, project, walk.state), is_completed=True)


def is_at_review(walk: Walk) -> bool:
    """Whether the walk waits for the respondent to send the answers."""
    return walk.current is None and not walk.is_completed


def jump(source: PreviewScript, project: Project, walk: Walk, key: str) -> Walk:
    """Move to the block with this key of the editor, or to the end for an outro block.

    The blocks before it are passed with the existing answers; questions without an answer are skipped. A
    block that its condition hides is shown nevertheless. For a block that is never shown, the next block is
    shown. Returns the walk unchanged if there is no such block.
    """
    script, target = source.script, source.block_of(key)
    if target is None:
        return walk
    index = script.index_by_id.get(target.id or 0, len(script.blocks))
    if script.is_poll:
        return begin(source, project, seed=walk.seed) if index < len(script.blocks) else walk
    jumped = _replayed(source, project, walk, lambda block: script.index_by_id[block.id or 0] >= index)
    if is_at_review(jumped):
        return send(source, project, jumped)
    is_missed = jumped.state.at > index and (target.asks or target.type in STATEMENTS)
    return _forced(source, project, jumped, target) if is_missed else jumped


def follow(source: PreviewScript, project: Project, walk: Walk) -> Walk:
    """The walk on the current script: at the same block, or at the first block that was not passed before."""
    walk = _renumbered(walk, source.script)
    walk = replace(walk, names=_names_of(source.script))
    if source.script.is_poll:
        return _followed_poll(source, project, walk)
    passed, current = frozenset(walk.state.path), walk.current
    followed = _replayed(source, project, walk, lambda block: block.id == current or block.id not in passed)
    if walk.is_completed and is_at_review(followed):
        return send(source, project, followed)
    if walk.state.reviewed and not is_at_review(followed):
        followed = replace(followed, state=replace(followed.state, reviewed=walk.state.reviewed))
    at = source.script.index_by_id.get(walk.forced or 0)
    if at is not None and current == walk.forced and followed.state.at > at:
        return _forced(source, project, followed, source.script.blocks[at])
    return followed


def _locked_reply(source: PreviewScript, project: Project, state: State) -> Reply | None:
    """The answer to the current block, if it was graded and stays, as on the real page."""
    return runner.settled_reply(source.script, state) if project.lock_graded_answers else None


# --- Parts ------------------------------------------------------------------------------------------


def _after(source: PreviewScript, project: Project, walk: Walk, turn: Turn) -> Walk:
    """The walk after a turn, with the effects that it would have. It stops for a review of the answers."""
    state = turn.state
    stops = project.review and not project.is_poll and bool(state.path) and not walk.is_completed
    if turn.show is not None:
        state = _reached(source, project, state, turn.show)
    if turn.completes and stops:
        state = replace(state, reviewed=())
    elif turn.completes and not walk.is_completed:
        state = _ended(source, project, state)
    return replace(
        walk,
        state=state,
        current=turn.show.id if turn.show else None,
        is_completed=walk.is_completed or (turn.completes and not stops),
        forced=None,
    )


def _passed(source: PreviewScript, project: Project, walk: Walk) -> Walk:
    """The walk past the blocks that were passed before an answer was changed from the review."""
    turn = runner.to_review(source.script, walk.state) if walk.state.reviewed else None
    return walk if turn is None else _after(source, project, walk, turn)


def _replayed(source: PreviewScript, project: Project, walk: Walk, until: Until) -> Walk:
    """Walk from the start with the answers that fit, skipping other questions, up to a block or the end."""
    script = source.script
    fresh = replace(walk, is_completed=False)
    next_walk = _after(source, project, replace(fresh, state=State()), runner.begin(script))
    next_walk = replace(next_walk, state=replace(next_walk.state, replies=walk.state.replies))
    while (block := runner.current_block(script, next_walk.state)) is not None and not until(block):
        if block.asks:
            reply = next_walk.state.replies.get(block.id or 0)
            is_usable = reply is not None and ("skipped" in reply or answers.fits(block, reply))
            turn = runner.answer(script, next_walk.state, reply if reply and is_usable else SKIPPED)
        else:
            turn = runner.proceed(script, next_walk.state)
        next_walk = _after(source, project, next_walk, turn)
    return next_walk


def _forced(source: PreviewScript, project: Project, walk: Walk, target: Block) -> Walk:
    """The walk at a hidden block, with the blocks that were passed before it."""
    script = source.script
    index = script.index_by_id[target.id or 0]
    before = [block_id for block_id in walk.state.path if script.index_by_id[block_id] < index]
    state = replace(walk.state, at=index, path=tuple(before))
    next_walk = _after(source, project, replace(walk, is_completed=False), Turn(state, show=target))
    return replace(next_walk, forced=target.id)


def _followed_poll(source: PreviewScript, project: Project, walk: Walk) -> Walk:
    begun = begin(source, project, seed=walk.seed)
    if not walk.is_completed:
        return begun
    state = _at_the_question(source, begun)
    question = runner.current_block(source.script, state)
    reply = walk.state.replies.get(question.id or 0) if question else None
    if question is None or reply is None or not answers.fits(question, reply):
        return begun
    return _after(source, project, begun, runner.answer(source.script, state, reply))


def _at_the_question(source: PreviewScript, walk: Walk) -> State:
    """The state in which a poll's page asks its question, also after a vote."""
    script = source.script
    state = replace(runner.begin(script).state, replies=walk.state.replies, fired=walk.state.fired)
    block = runner.current_block(script, state)
    while block is not None and not block.asks:
        state = runner.proceed(script, state).state
        block = runner.current_block(script, state)
    return state


def _reached(source: PreviewScript, project: Project, state: State, block: Block) -> State:
    """The state with the effects that an action block would have for a member at this point."""
    if block.action_kind is None:
        return state
    settings = samples.settings_of(project)
    if not effects.gives(project, settings, source.script, state, block):
        return state
    amount = 0
    if block.action_kind == "give_xp" and block.action_config is not None:
        amount = effects.xp_amount(project, source.script, state, block.action_config) or 0
    return replace(state, fired={**state.fired, block.id or 0: amount})


def _ended(source: PreviewScript, project: Project, state: State) -> State:
    """The state with the effects of the end: the XP of a vote, and the actions of the outro."""
    if ends.outcome(project, source.script, state) is not None and not project.is_anonymous:
        return state
    settings = samples.settings_of(project)
    question = next((block for block in source.script.blocks if block.asks), None)
    if project.is_poll and project.uses_xp and settings.gives_xp and question is not None:
        state = replace(state, fired={**state.fired, question.id or 0: settings.xp_for_a_question})
    for block in outro.with_amounts(source.script, project=project, settings=settings).outro:
        state = _reached(source, project, state, block)
    return state


# --- Ids that a save gives ------------------------------------------------------------------------------


def _names_of(script: Script) -> dict[int, str]:
    """The names of blocks, and the values of options, that have no stored id."""
    numbered = [(block.id or 0, block.title) for block in script.blocks]
    numbered += [(option.id or 0, option.value) for block in script.blocks for option in block.options]
    return {number: name for number, name in numbered if number >= FIRST_NEW_ID}


def _renumbered(walk: Walk, script: Script) -> Walk:
    """The walk with the stored ids of blocks and options that had none.

    Blocks that no longer exist are left out.
    """
    ids = _block_ids(walk.names, script)
    state = walk.state
    blocks = {block.id: block for block in script.blocks}
    path = [ids.get(block_id, block_id) for block_id in state.path]
    replies = {
        ids.get(block_id, block_id): _reply(reply, walk.names, blocks.get(ids.get(block_id, block_id)))
        for block_id, reply in state.replies.items()
    }
    state = replace(
        state,
        path=tuple(block_id for block_id in path if block_id in blocks),
        replies=replies,
        reviewed=tuple(ids.get(block_id, block_id) for block_id in state.reviewed),
    )
    return replace(
        walk,
        state=state,
        current=ids.get(walk.current or 0, walk.current),
        forced=ids.get(walk.forced or 0, walk.forced),
    )


def _block_ids(names: Mapping[int, str], script: Script) -> dict[int, int]:
    by_title = {block.title: block.id or 0 for block in script.blocks}
    known = script.index_by_id
    return {
        number: by_title[name] for number, name in names.items() if number not in known and name in by_title
    }


def _reply(reply: Reply, names: Mapping[int, str], block: Block | None) -> Reply:
    chosen = reply.get("option_ids")
    if not isinstance(chosen, list) or block is None:
        return reply
    by_value = {option.value: option.id or 0 for option in block.options}
    option_ids: list[Any] = [
        option_id if option_id in block.option_by_id else by_value.get(names.get(option_id, ""), 0)
        for option_id in chosen
    ]
    return {"option_ids": option_ids}
