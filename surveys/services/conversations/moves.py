"""The moves of a loaded conversation: an answer, the answers to a group, or `continue`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from communities.ground.errors import Conflict, InvalidRequest
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
    elif further.may_be_asked(loaded, block, reply):
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
    try:
        return answers.parse(block, raw)
    except InvalidAnswer as invalid:
        raise InvalidRequest(str(invalid), violations=[invalid.violation]) from None


def refuse_unless_live(project: Project, at: datetime) -> None:
    if project.is_live_at(at):
        return
    if project.is_pending_at(at) or not project.was_opened_by(at):
        raise Conflict("This project is not open yet.")
    raise Conflict("This project is closed: it takes no answers now. What was answered before is kept.")
