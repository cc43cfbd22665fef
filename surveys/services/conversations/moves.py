"""The moves of a conversation: answer, answer a group, continue, go back, revise, change a vote.

Each is one transaction: lock, engine, save. `actor` is the caller of the interface, who must be allowed to
edit the project. None is a respondent on their own page.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, InvalidRequest
from communities.ground.transactions import in_transaction
from surveys.engine.script import Block
from surveys.engine.walk import answers, follow_ups, groups, prefill, presentation, runner
from surveys.engine.walk.answers import InvalidAnswer, Reply
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.engine.walk.runner import Turn
from surveys.models import Project
from surveys.services.conversations import further, saving, view
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.conversations.prefill import may_skip
from surveys.services.conversations.view import ConversationView

GRADED = "This answer was graded, so it stays. Send it again, or `continue`, to go on."
_NOT_CURRENT = "This is not the current block of the conversation."
_STANDS_AT_TEXT = f"{_NOT_CURRENT} It stands at `{{name}}`, which takes no answer: send `continue` first."
_NOT_WRITTEN = "The current step takes no answer: send `continue`."


class RowsChanged(Conflict):
    """The form of a group lacks one of its questions, because the script has changed since."""

    def __init__(self) -> None:
        super().__init__(_NOT_CURRENT)


@in_transaction
def answer(
    *,
    conversation_id: uuid.UUID,
    raw: Mapping[str, object],
    at: datetime,
    actor: Actor | None = None,
    step: int | None = None,
    ahead: Prefill = NOTHING,
    stops: bool = False,
) -> ConversationView:
    """Take the answer to the current block: `raw` has `block_id` and one way of answering (`walk.answers`).

    Following questions that are answered `ahead` are passed too. Sending the latest answer again changes
    nothing. Refuses an answer to any other block, an invalid answer, and an answer after closing. `step` also
    identifies the further question that is answered: a conversation at another step is returned unchanged
    (`resumed`). With `stops` the conversation waits at its end for `go_on`, if the project has a review.
    """
    loaded = LoadedConversation.locked(conversation_id=conversation_id, actor=actor, stops=stops)
    if step is not None:
        return take_at(step, loaded, raw, at, ahead)
    return take(loaded, raw, at, ahead=ahead)


def take_at(
    step: int, loaded: LoadedConversation, raw: Mapping[str, object], at: datetime, ahead: Prefill = NOTHING
) -> ConversationView:
    """Save the answer of a control that was drawn for a step, as `answer` does."""
    if _is_elsewhere(loaded, raw["block_id"], step):
        return view.of_conversation(loaded, at, resumed=True)
    if loaded.state.further is not None:
        raw = {**raw, "follow_up": loaded.state.further.number}
    return take(loaded, raw, at, ahead=ahead)


@in_transaction
def answer_group(
    *,
    conversation_id: uuid.UUID,
    raws: Sequence[Mapping[str, object]],
    at: datetime,
    ahead: Prefill = NOTHING,
) -> ConversationView:
    """Take the answers to the questions of the current group, as the form of a page sends them.

    Earlier answers to these questions are replaced. An answer to a question that the answers before it hide
    is dropped. Refuses all if one is invalid, or with RowsChanged if a question is missing, and like
    `answer`. Waits for a review, like `answer`.
    """
    loaded = LoadedConversation.locked(conversation_id=conversation_id, stops=True)
    return take_group(loaded, raws, at, ahead)


@in_transaction
def go_on(
    *,
    conversation_id: uuid.UUID,
    at: datetime,
    actor: Actor | None = None,
    block_id: int | None = None,
    step: int | None = None,
    ahead: Prefill = NOTHING,
    stops: bool = False,
) -> ConversationView:
    """Go past a content or action block, or a graded question whose answer cannot be changed.

    While a model writes a further question, the conversation is returned unchanged (`resumed`), until the
    question is ready or its time is over. A further question that is shown cannot be passed this way.

    Following questions that are answered `ahead` are passed too. Refuses if the current block is any other
    question, or if the conversation has ended.

    With a `block_id` or a `step`, a conversation elsewhere is returned unchanged (`resumed`): a form that was
    sent twice moves once. For `stops` see `answer`. A conversation that waits at its end is completed.
    """
    loaded = LoadedConversation.locked(conversation_id=conversation_id, actor=actor, stops=stops)
    if _is_elsewhere(loaded, block_id, step):
        return view.of_conversation(loaded, at, resumed=True)
    return proceed(loaded, at, ahead)


@in_transaction
def revise(*, conversation_id: uuid.UUID, block_id: int, at: datetime) -> ConversationView:
    """Go back from the review at the end to one question. Its answer leads to the review again.

    Refuses a conversation that is not at its review, and a graded answer that cannot be changed.
    """
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    if not loaded.is_at_review or block_id not in loaded.state.path:
        return view.of_conversation(loaded, at, resumed=True)
    refuse_unless_live(loaded.project, at)
    turn = runner.revisit(loaded.script, loaded.state, block_id)
    if replace(loaded, state=turn.state).locked_reply is not None:
        raise Conflict(GRADED)
    return view.of_conversation(saving.save(loaded, turn, at=at), at)


@in_transaction
def back(
    *,
    conversation_id: uuid.UUID,
    at: datetime,
    actor: Actor | None = None,
    block_id: int | None = None,
    follow_up: int | None = None,
    step: int | None = None,
    as_group: bool = False,
) -> ConversationView:
    """Go back by one shown step of any kind; from the end of a poll that allows changes, back to the vote.

    Answers stay until they are changed. Refuses at the first step and after the end. With a `block_id`, the
    number of a further question (`follow_up`, 0 for the block itself) or a `step`, a conversation at any
    other place is returned unchanged (`resumed`): a request that was sent twice moves once. With `as_group`
    the questions of a group are one step.
    """
    loaded = LoadedConversation.locked(conversation_id=conversation_id, actor=actor)
    if as_group:
        loaded = at_the_group(loaded)
    further_number = loaded.state.further.number if loaded.state.further else 0
    if _is_elsewhere(loaded, block_id, step) or follow_up not in (None, further_number):
        return view.of_conversation(loaded, at, resumed=True)
    if loaded.is_completed and not (loaded.project.is_poll and loaded.project.change_poll):
        raise Conflict("This conversation is over.")
    refuse_unless_live(loaded.project, at)
    try:
        turn = runner.back(loaded.script, loaded.state)
        while loaded.block is None and turn.show is not None and not turn.show.asks:
            turn = runner.back(loaded.script, turn.state)
    except LookupError:
        raise Conflict("This is the first step.") from None
    return view.of_conversation(saving.save(loaded, turn, at=at), at)


@in_transaction
def change_vote(*, conversation_id: uuid.UUID, raw: Mapping[str, object], at: datetime) -> ConversationView:
    """Answer a poll's question in a conversation that has begun. Refuses if the poll allows no changes."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    if not loaded.is_completed or loaded.project.change_poll:
        loaded = at_the_question(loaded, raw)
    return take(loaded, raw, at)


def proceed(loaded: LoadedConversation, at: datetime, ahead: Prefill) -> ConversationView:
    """Go past the current block. Refuses a question that can be answered."""
    if loaded.is_at_review:
        refuse_unless_live(loaded.project, at)
        end = Turn(replace(loaded.state, reviewed=()), show=None, completes=True)
        return view.of_conversation(saving.save(loaded, end, at=at, is_prefilled=ahead.skips), at)
    if loaded.block is None:
        raise Conflict("This conversation is over.")
    if further.still_waits(loaded, at):
        return view.of_conversation(loaded, at, resumed=True)
    reply = further.reply_about(loaded) or loaded.locked_reply
    if reply is not None and (again := further.ask_again(loaded, at)) is not None:
        return view.of_conversation(again, at)
    if loaded.block.asks and reply is None:
        raise Conflict("The current block is a question: answer it, or skip it if it is optional.")
    if not loaded.is_completed:
        refuse_unless_live(loaded.project, at)
    script, state = loaded.script, loaded.state
    turn = runner.proceed(script, state) if reply is None else runner.answer(script, state, reply)
    moved = saving.save(loaded, _stopped(loaded, turn), at=at, is_prefilled=ahead.skips)
    return view.of_conversation(passed(moved, ahead, at), at)


def _stopped(loaded: LoadedConversation, turn: Turn) -> Turn:
    """The turn, without the completion if the respondent reviews the answers first (rule 6.178)."""
    project = loaded.project
    if not (turn.completes and loaded.stops and project.review) or project.is_poll or loaded.is_completed:
        return turn
    return replace(turn, completes=False, state=replace(turn.state, reviewed=()))


def passed(loaded: LoadedConversation, ahead: Prefill, at: datetime) -> LoadedConversation:
    """The conversation after the questions that are answered `ahead`, saved together as one move.

    Only the last turn can reach an action block, because the walk stops there. So one save writes the same
    answers and gives the same gifts as a save for each question would, and adds the scores up only once.
    After an answer was changed from the review, the blocks up to there are passed the same way.
    """
    if loaded.state.reviewed:
        turn = runner.to_review(loaded.script, loaded.state)
        return loaded if turn is None else saving.save(loaded, _stopped(loaded, turn), at=at)
    if not ahead.skips or not may_skip(loaded.project):
        return loaded
    walk = runner.Walk(loaded.script, loaded.state)  # a new one for each reply would add up all scores again
    last: Turn | None = None
    while (reply := prefill.given_reply(loaded.script, walk.state, ahead)) is not None:
        turn = walk.answer(reply)
        if turn.completes:
            break
        last = turn
    return loaded if last is None else saving.save(loaded, last, at=at)


def take(
    loaded: LoadedConversation,
    raw: Mapping[str, object],
    at: datetime,
    *,
    is_new: bool = False,
    ahead: Prefill = NOTHING,
    passes: bool = True,
) -> ConversationView:
    """Save the answer to the current block, or accept the latest answer sent again.

    If the answer has feedback, or without `passes`, the next question is shown, also if it is answered
    `ahead` or from the review.
    """
    block = loaded.block
    if block is None or block.id != raw["block_id"]:
        return _repeated(loaded, raw, at)
    if not block.asks:
        raise Conflict("The current block takes no answer: send `continue`.")
    refuse_unless_live(loaded.project, at)
    if loaded.state.further is not None:
        return _take_further(loaded, raw, at, ahead)
    if raw.get("follow_up"):
        return _repeated(loaded, raw, at)
    reply = parsed(presentation.effective_block(loaded.script, block), raw)
    if loaded.locked_reply not in (None, reply):
        raise Conflict(GRADED)
    before = loaded.state.replies.get(block.id or 0)
    if before is not None and follow_ups.without(before) == reply:
        reply = before  # includes the further questions about the answer
        if (again := further.ask_again(loaded, at)) is not None:
            return view.of_conversation(again, at)
    elif block.follow_ups and further.may_be_asked(loaded, block, reply):
        return view.of_conversation(further.wait(loaded, block, reply, at, is_new=is_new), at)
    turn = _stopped(loaded, runner.answer(loaded.script, loaded.state, reply))
    moved = saving.save(
        loaded, turn, at=at, block=block, reply=reply, is_new=is_new, is_prefilled=ahead.skips
    )
    if passes and not turn.feedback:
        moved = passed(moved, ahead, at)
    return view.of_conversation(moved, at, feedback=turn.feedback)


def at_the_group(loaded: LoadedConversation) -> LoadedConversation:
    """Move a conversation, unsaved, to the first question of the current group."""
    begun = groups.first_state(loaded.script, loaded.state)
    return loaded if begun is None else replace(loaded, state=begun)


def take_group(
    loaded: LoadedConversation, raws: Sequence[Mapping[str, object]], at: datetime, ahead: Prefill
) -> ConversationView:
    """Save the answers to a group, one after the other."""
    loaded = at_the_group(loaded)
    script = loaded.script
    places = [script.index_by_id[cast(int, raw["block_id"])] for raw in raws]
    title = script.blocks[places[0]].group
    if loaded.state.at != places[0]:
        is_there = loaded.block is not None and title and loaded.block.group == title
        raise RowsChanged if is_there else Conflict(_NOT_CURRENT)
    for place, raw in zip(places, raws, strict=True):  # an invalid one undoes the transaction
        if loaded.state.at < place:
            raise RowsChanged
        if loaded.state.at == place:
            loaded = take(loaded, raw, at, ahead=ahead, passes=False).loaded
    return view.of_conversation(passed(loaded, ahead, at), at)


def _take_further(
    loaded: LoadedConversation, raw: Mapping[str, object], at: datetime, ahead: Prefill
) -> ConversationView:
    """Save the answer to a further question, which may lead to another further question.

    The latest answer, sent again, changes nothing unless the request marks it as an answer to the further
    question.
    """
    block, reply, asked = loaded.block, further.reply_about(loaded), loaded.state.further
    assert block is not None
    assert reply is not None
    assert asked is not None
    is_repeat = further.repeats(block, reply, raw)
    number = raw.get("follow_up")
    if is_repeat and (number != asked.number or asked.question is None):
        return view.of_conversation(loaded, at, resumed=True)
    if asked.question is None or number not in (None, asked.number):
        raise Conflict(_NOT_WRITTEN if asked.question is None else _NOT_CURRENT)
    text = parsed(replace(block, required=None), raw).get("text")
    reply = follow_ups.completed(reply, asked.question, None if text is None else str(text))
    if text is not None:
        further.outdate_reading(loaded, block)
    if further.may_be_asked(loaded, block, reply):
        return view.of_conversation(further.wait(loaded, block, reply, at), at)
    turn = _stopped(loaded, runner.answer(loaded.script, loaded.state, reply))
    moved = saving.save(loaded, turn, at=at, block=block, reply=reply, is_prefilled=ahead.skips)
    return view.of_conversation(passed(moved, ahead, at), at)


def _repeated(loaded: LoadedConversation, raw: Mapping[str, object], at: datetime) -> ConversationView:
    """The conversation unchanged, if this is its latest answer sent again. Refuses any other answer."""
    last = runner.latest_reply(loaded.script, loaded.state)
    if last is not None and last[0].id == raw["block_id"]:
        block, reply = last
        if further.repeats(block, reply, raw):
            return view.of_conversation(loaded, at, feedback=runner.feedback(loaded.script, block, reply))
    if loaded.block is None:
        raise Conflict("This conversation is over.")
    if not loaded.block.asks:
        raise Conflict(_STANDS_AT_TEXT.format(name=loaded.block.name))
    raise Conflict(_NOT_CURRENT)


def parsed(block: Block, raw: Mapping[str, object]) -> Reply:
    """The reply in an answer object. Refuses an answer that its block does not accept."""
    try:
        return answers.parse(block, raw)
    except InvalidAnswer as invalid:
        raise InvalidRequest(str(invalid), violations=[invalid.violation]) from None


def refuse_unless_live(project: Project, at: datetime) -> None:
    """Refuse a project that accepts no responses now."""
    if project.is_live_at(at):
        return
    if project.is_pending_at(at) or not project.was_opened_by(at):
        raise Conflict("This project is not open yet.")
    raise Conflict("This project is closed: it takes no answers now. What was answered before is kept.")


def _is_elsewhere(loaded: LoadedConversation, block_id: object, step: int | None) -> bool:
    """Whether a conversation is not at the block and the step that the caller last saw; None if unknown.

    `step` is the number of the step (`State.place`). With a `step`, an old copy of a message or a click that
    arrives twice moves nothing.
    """
    is_at_block = block_id is None or (loaded.block is not None and loaded.block.id == block_id)
    return not is_at_block or step not in (None, loaded.state.place)


def at_the_question(loaded: LoadedConversation, raw: Mapping[str, object]) -> LoadedConversation:
    """Move a poll's conversation, unsaved, to its question. The page shows question and texts together."""
    script, state = loaded.script, loaded.state
    block = loaded.block
    if loaded.is_completed:
        while (block is None or block.id != raw["block_id"]) and runner.can_go_back(state):
            state = runner.back(script, state).state
            block = runner.current_block(script, state)
    else:
        while block is not None and not block.asks:
            state = runner.proceed(script, state).state
            block = runner.current_block(script, state)
    return loaded if state is loaded.state else replace(loaded, state=state)
