"""Conversations: begin, answer, continue, go back, retract. Each move is one transaction: lock, engine, save.

Every entrance (interface, pages, chat) calls these functions and renders the `ConversationView` that they
return. `actor` is the caller of the interface, who must be allowed to edit the project. None is a respondent
on their own page, whose access `admission` decides.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, InvalidRequest, NotFound
from communities.ground.transactions import in_transaction
from surveys.engine.script import Block
from surveys.engine.walk import answers, follow_ups, groups, prefill, presentation, runner
from surveys.engine.walk.answers import InvalidAnswer, Reply
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.engine.walk.runner import State, Turn
from surveys.models import Conversation, Project
from surveys.services import events
from surveys.services.conversations import (
    admission,
    completions,
    effects,
    further,
    places,
    repository,
    respondents,
    saving,
    view,
)
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.effects import Recipient
from surveys.services.conversations.loaded import NO_CONVERSATION, LoadedConversation
from surveys.services.conversations.prefill import may_skip
from surveys.services.conversations.repository import RespondentHistory, TallyChange
from surveys.services.conversations.saving import LimitReached
from surveys.services.conversations.view import ConversationView
from surveys.services.ground import access, anonymity
from surveys.services.projects import schedule
from surveys.services.scripts import editing as scripts

_GRADED = "This answer was graded, so it stays. Send it again, or `continue`, to go on."
_NOT_CURRENT = "This is not the current block of the conversation."
_STANDS_AT_TEXT = f"{_NOT_CURRENT} It stands at `{{name}}`, which takes no answer: send `continue` first."
_NOT_WRITTEN = "The current step takes no answer: send `continue`."
_BEGINS_ELSEWHERE = "This respondent is beginning in another window. Please retry."


class RowsChanged(Conflict):
    """The form of a group lacks one of its questions, because the script has changed since."""

    def __init__(self) -> None:
        super().__init__(_NOT_CURRENT)


def ask_platforms(*, project_id: int, respondent: Respondent, at: datetime, actor: Actor) -> bool:
    """Ask the platforms about a respondent whom `begin` would refuse by the rows of the database.

    Call it before `begin`, outside of a transaction, because it waits for other servers. Returns whether the
    platforms could be asked. It refuses nobody; `begin` does.
    """
    project = Project.objects.in_community(actor.community_id).filter(pk=project_id).first()
    if project is not None and access.may_own(actor=actor, project=project) and project.is_live_at(at):
        _, asked = admission.ask_platforms(project=project, respondent=respondent, at=at)
        return asked.could_ask
    return True


@in_transaction
def begin(
    *,
    project_id: int,
    respondent: Respondent,
    at: datetime,
    actor: Actor | None = None,
    seed: int | None = None,
) -> ConversationView:
    """Start a conversation, or return the one that this respondent has open (`resumed`).

    A poll whose vote may be changed returns the completed conversation. On anonymous projects starting again
    always makes a new one. `seed` (below 2**63) orders the options, if some were shown before. Refuses a
    project that is not live, a respondent who is not admitted, and one who has reached the limit.
    """
    history, respondent = _admitted(project_id, respondent, at, actor)
    earlier = _resumable(history)
    if earlier is not None:
        return view.of_conversation(LoadedConversation.of(earlier), at, resumed=True)
    loaded, is_new = _started(history.project, respondent, at, seed)
    return view.of_conversation(loaded, at, resumed=not is_new)


@in_transaction
def begin_with_move(
    *,
    project_id: int,
    respondent: Respondent,
    block_id: int,
    raw: Mapping[str, object] | None,
    at: datetime,
    seed: int | None = None,
    ahead: Prefill = NOTHING,
    group: Sequence[Mapping[str, object]] = (),
    stops: bool = False,
) -> ConversationView:
    """Begin a conversation and take its first step, as the first form of a page does.

    Refuses like `begin` and `answer`. `raw` is the answer to the block; None continues past a block that asks
    nothing. Answers that the page showed as given `ahead` are saved first; questions after the block that are
    answered `ahead` are passed. If the respondent's conversation is at another block, because they began it
    elsewhere or the script has changed, it is returned unchanged (`resumed`).
    """
    history, respondent = _admitted(project_id, respondent, at, None)
    earlier = _resumable(history)
    if earlier is not None:
        loaded = LoadedConversation.locked(conversation_id=earlier.pk)
    else:
        loaded, is_new = _started(history.project, respondent, at, seed)
        if not is_new:  # a lock now, after the member's lock, could deadlock with a move of the other request
            raise Conflict(_BEGINS_ELSEWHERE, retry_after=1)
        loaded = _passed(loaded, ahead, at)
    if group:
        loaded = _at_the_group(loaded)
    if loaded.block is None or loaded.block.id != block_id:
        return view.of_conversation(loaded, at, resumed=True)
    moved = replace(loaded, stops=stops)
    if group:
        return _take_group(moved, group, at, ahead)
    return _proceed(moved, at, ahead) if raw is None else _take(moved, raw, at, ahead=ahead)


@in_transaction
def vote(
    *,
    project_id: int,
    respondent: Respondent,
    raw: Mapping[str, object],
    at: datetime,
    actor: Actor | None = None,
    seed: int | None = None,
) -> ConversationView:
    """Begin a poll and answer its question, as the page of a poll does. Refuses like `begin` and `answer`.

    A respondent who has voted before changes their vote, if the poll allows it.
    """
    history, respondent = _admitted(project_id, respondent, at, actor)
    earlier = _resumable(history)
    if earlier is None:
        loaded, _ = saving.new(project=history.project, respondent=respondent, at=at, seed=seed)
    else:
        loaded = LoadedConversation.locked(conversation_id=earlier.pk)
    return _take(_at_the_question(loaded, raw), raw, at, is_new=earlier is None)


@in_transaction
def change_vote(*, conversation_id: uuid.UUID, raw: Mapping[str, object], at: datetime) -> ConversationView:
    """Answer a poll's question in a conversation that has begun. Refuses if the poll allows no changes."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    if not loaded.is_completed or loaded.project.change_poll:
        loaded = _at_the_question(loaded, raw)
    return _take(loaded, raw, at)


def require_valid(*, project: Project, block: Block, raw: Mapping[str, object]) -> None:
    """Refuse an invalid answer to a block before a conversation begins or a count changes."""
    script = scripts.load(project_id=project.pk, revision=project.revision)
    _parsed(presentation.effective_block(script, block), raw)


def look(*, project_id: int, respondent: Respondent, at: datetime) -> tuple[ConversationView | None, bool]:
    """The respondent's open conversation, else their last, and whether they have reached the limit.

    Changes nothing, and works for closed projects too. Finds no conversation on anonymous projects.
    """
    keys = _respondent_keys(project_id, respondent)
    history = repository.look_for_respondent(project_id=project_id, respondents=keys)
    if history is None:
        raise NotFound(access.NO_PROJECT)
    is_at_limit = _is_at_limit(history, keys)
    if history.conversation is None or history.project.is_anonymous:
        return None, is_at_limit
    return view.of_conversation(LoadedConversation.of(history.conversation), at, resumed=True), is_at_limit


def get(*, conversation_id: uuid.UUID, at: datetime, actor: Actor | None = None) -> ConversationView:
    """The conversation in its present state. Refuses an unknown id, and a deactivated respondent."""
    conversation = repository.find(conversation_id=conversation_id)
    if conversation is None:
        raise NotFound(NO_CONVERSATION)
    if actor is not None:
        access.require_owner(actor=actor, project=conversation.project, missing=NO_CONVERSATION)
    loaded = LoadedConversation.of(conversation)
    if actor is None:
        loaded.require_active()
    return view.of_conversation(loaded, at, resumed=True)


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
    nothing. Refuses an answer to any other block, an invalid answer, and an answer after closing. For `step`
    see `_stands_elsewhere`; `step` also identifies the further question that is answered. With `stops` the
    conversation waits at its end for `go_on`, if the project has a review.
    """
    loaded = LoadedConversation.locked(conversation_id=conversation_id, actor=actor)
    loaded = replace(loaded, stops=stops)
    if _stands_elsewhere(loaded, raw["block_id"], step):
        return view.of_conversation(loaded, at, resumed=True)
    if step is not None and loaded.state.further is not None:
        raw = {**raw, "follow_up": loaded.state.further.number}
    return _take(loaded, raw, at, ahead=ahead)


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
    loaded = replace(LoadedConversation.locked(conversation_id=conversation_id), stops=True)
    return _take_group(loaded, raws, at, ahead)


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

    With a `block_id`, a conversation at another block is returned unchanged (`resumed`): a form that was sent
    twice moves once. For `step` see `_stands_elsewhere`, for `stops` see `answer`. A conversation that waits
    at its end is completed.
    """
    loaded = LoadedConversation.locked(conversation_id=conversation_id, actor=actor)
    if _is_at_another(loaded, block_id) or _stands_elsewhere(loaded, block_id, step):
        return view.of_conversation(loaded, at, resumed=True)
    return _proceed(replace(loaded, stops=stops), at, ahead)


@in_transaction
def revise(*, conversation_id: uuid.UUID, block_id: int, at: datetime) -> ConversationView:
    """Go back from the review at the end to one question. Its answer leads to the review again.

    Refuses a conversation that is not at its review, and a graded answer that cannot be changed.
    """
    loaded = LoadedConversation.locked(conversation_id=conversation_id)
    if not loaded.is_at_review or block_id not in loaded.state.path:
        return view.of_conversation(loaded, at, resumed=True)
    _refuse_unless_live(loaded.project, at)
    turn = runner.revisit(loaded.script, loaded.state, block_id)
    if replace(loaded, state=turn.state).locked_reply is not None:
        raise Conflict(_GRADED)
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
        loaded = _at_the_group(loaded)
    further_number = loaded.state.further.number if loaded.state.further else 0
    is_at_another = _is_at_another(loaded, block_id) or follow_up not in (None, further_number)
    if is_at_another or (step is not None and loaded.state.place != step):
        return view.of_conversation(loaded, at, resumed=True)
    if loaded.is_completed and not (loaded.project.is_poll and loaded.project.change_poll):
        raise Conflict("This conversation is over.")
    _refuse_unless_live(loaded.project, at)
    try:
        turn = runner.back(loaded.script, loaded.state)
        while loaded.block is None and turn.show is not None and not turn.show.asks:
            turn = runner.back(loaded.script, turn.state)
    except LookupError:
        raise Conflict("This is the first step.") from None
    return view.of_conversation(saving.save(loaded, turn, at=at), at)


@in_transaction
def retract(*, conversation_id: uuid.UUID, at: datetime, actor: Actor | None = None) -> None:
    """Delete a vote on behalf of its voter. Refuses if the poll does not allow changes, or is closed."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id, actor=actor)
    if not loaded.is_changeable_at(at):
        raise Conflict("This poll does not allow a vote to be taken back.")
    remove(conversation=loaded.conversation, at=at)


def remove(*, conversation: Conversation, at: datetime) -> None:
    """Delete a locked conversation with its answers, and take them out of every count.

    Takes part in the caller's transaction. The XP of a vote is taken back; all other gifts stay (rule 6.50).
    """
    is_vote = conversation.project.is_poll and conversation.completed_at is not None
    voter = None
    if is_vote:  # the member is locked before the limit, in the same order as by a completion
        _, voter = respondents.recipient_of(conversation, at=at)
    _remove(conversation, voter, at)


def expire(*, conversation: Conversation, at: datetime) -> None:
    """Delete a locked conversation whose time is over, as `remove` does. XP stays, that of a vote too."""
    _remove(conversation, None, at)


def _remove(conversation: Conversation, voter: Recipient | None, at: datetime) -> None:
    replies = State.from_json(conversation.state).counted
    if conversation.completed_at is not None:
        places.free(conversation.project, conversation.pk)
    repository.delete(conversation=conversation, at=at)
    if voter is not None:
        effects.unwind(voter)
    repository.count(
        project_id=conversation.project_id,
        counts=TallyChange(
            answered=-answers.count(replies),
            completed=-1 if conversation.completed_at else 0,
            listed=-1 if conversation.is_listed else 0,
        ),
    )
    events.response_deleted(conversation, at=at)


def _admitted(
    project_id: int, respondent: Respondent, at: datetime, actor: Actor | None
) -> tuple[RespondentHistory, Respondent]:
    """The project with the respondent's history there, and the respondent with the account that admits them.

    Checks the project's state first, and access second (rule 6.6).
    """
    keys = _respondent_keys(project_id, respondent)
    history = repository.find_for_respondent(project_id=project_id, respondents=keys)
    if history is None:
        raise NotFound(access.NO_PROJECT)
    if actor is not None:
        access.require_owner(actor=actor, project=history.project)
    _refuse_unless_live(history.project, at)
    schedule.catch_up(history.project, at=at)
    respondent = admission.check(project=history.project, respondent=respondent, at=at)
    earlier = _resumable(history)
    has_changeable_vote = earlier is not None and earlier.completed_at is not None
    if not has_changeable_vote and _is_at_limit(history, keys):
        raise LimitReached
    return history, respondent


def _respondent_keys(project_id: int, respondent: Respondent) -> list[str]:
    """The keyed hashes of a respondent in one project, their own first; none for a nameless respondent."""
    return [anonymity.respondent_hash(project_id=project_id, who=name) for name in respondent.names]


def _is_at_limit(history: RespondentHistory, keys: Sequence[str]) -> bool:
    most, count = respondents.most_completions(history.project), history.completions
    if most is None or not keys:
        return False
    if history.project.is_anonymous and completions.NEAR <= count < most:
        count = sum(completions.sessions(project_id=history.project.pk, respondent=each) for each in keys)
    return count >= most


def _resumable(history: RespondentHistory) -> Conversation | None:
    """The conversation that this respondent continues: an open one, or a vote that may be changed."""
    earlier, project = history.conversation, history.project
    if earlier is None or project.is_anonymous:
        return None
    return earlier if earlier.completed_at is None or (project.is_poll and project.change_poll) else None


def _started(
    project: Project, respondent: Respondent, at: datetime, seed: int | None
) -> tuple[LoadedConversation, bool]:
    """Save a new conversation, and return it with True; with False if a concurrent request has begun it."""
    loaded, turn = saving.new(project=project, respondent=respondent, at=at, seed=seed)
    if turn.completes:  # nothing in the script is shown to this respondent
        return saving.save(loaded, turn, at=at, is_new=True), True
    if not repository.insert(conversation=loaded.conversation):
        return _begun_elsewhere(loaded), False
    if turn.show is not None and turn.show.action_kind is not None:
        # Actions fire after the insert, so a concurrent request whose insert fails has fired none.
        loaded = saving.save(loaded, turn, at=at)
    return loaded, True


def _begun_elsewhere(loaded: LoadedConversation) -> LoadedConversation:
    """The conversation that a concurrent request of the same respondent has begun."""
    conversation = loaded.conversation
    assert conversation.respondent is not None  # a nameless conversation has no concurrent request
    history = repository.find_for_respondent(
        project_id=conversation.project_id, respondents=[conversation.respondent]
    )
    if history is None or history.conversation is None:
        raise Conflict(_BEGINS_ELSEWHERE, retry_after=1)
    return LoadedConversation.of(history.conversation)


def _is_at_another(loaded: LoadedConversation, block_id: int | None) -> bool:
    """Whether a conversation is not at the block that the caller last saw; False without a `block_id`."""
    return block_id is not None and (loaded.block is None or loaded.block.id != block_id)


def _stands_elsewhere(loaded: LoadedConversation, block_id: object, step: int | None) -> bool:
    """Whether a conversation is not at the block and step that a control was drawn for.

    `step` is the number of the step (`State.place`); None if the control does not send it. With a `step`, an
    old copy of a message or a click that arrives twice moves nothing.
    """
    if step is None:
        return False
    return loaded.block is None or loaded.block.id != block_id or loaded.state.place != step


def _at_the_question(loaded: LoadedConversation, raw: Mapping[str, object]) -> LoadedConversation:
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


def _proceed(loaded: LoadedConversation, at: datetime, ahead: Prefill) -> ConversationView:
    """Go past the current block. Refuses a question that can be answered."""
    if loaded.is_at_review:
        _refuse_unless_live(loaded.project, at)
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
        _refuse_unless_live(loaded.project, at)
    script, state = loaded.script, loaded.state
    turn = runner.proceed(script, state) if reply is None else runner.answer(script, state, reply)
    moved = saving.save(loaded, _stopped(loaded, turn), at=at, is_prefilled=ahead.skips)
    return view.of_conversation(_passed(moved, ahead, at), at)


def _stopped(loaded: LoadedConversation, turn: Turn) -> Turn:
    """The turn, without the completion if the respondent reviews the answers first (rule 6.178)."""
    project = loaded.project
    if not (turn.completes and loaded.stops and project.review) or project.is_poll or loaded.is_completed:
        return turn
    return replace(turn, completes=False, state=replace(turn.state, reviewed=()))


def _passed(loaded: LoadedConversation, ahead: Prefill, at: datetime) -> LoadedConversation:
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


def _take(
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
    _refuse_unless_live(loaded.project, at)
    if loaded.state.further is not None:
        return _take_further(loaded, raw, at, ahead)
    if raw.get("follow_up"):
        return _repeated(loaded, raw, at)
    reply = _parsed(presentation.effective_block(loaded.script, block), raw)
    if loaded.locked_reply not in (None, reply):
        raise Conflict(_GRADED)
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
        moved = _passed(moved, ahead, at)
    return view.of_conversation(moved, at, feedback=turn.feedback)


def _at_the_group(loaded: LoadedConversation) -> LoadedConversation:
    """Move a conversation, unsaved, to the first question of the current group."""
    begun = groups.first_state(loaded.script, loaded.state)
    return loaded if begun is None else replace(loaded, state=begun)


def _take_group(
    loaded: LoadedConversation, raws: Sequence[Mapping[str, object]], at: datetime, ahead: Prefill
) -> ConversationView:
    """Save the answers to a group, one after the other."""
    loaded = _at_the_group(loaded)
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
            loaded = _take(loaded, raw, at, ahead=ahead, passes=False).loaded
    return view.of_conversation(_passed(loaded, ahead, at), at)


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
    text = _parsed(replace(block, required=None), raw).get("text")
    reply = follow_ups.completed(reply, asked.question, None if text is None else str(text))
    if text is not None:
        further.outdate_reading(loaded, block)
    if further.may_be_asked(loaded, block, reply):
        return view.of_conversation(further.wait(loaded, block, reply, at), at)
    turn = _stopped(loaded, runner.answer(loaded.script, loaded.state, reply))
    moved = saving.save(loaded, turn, at=at, block=block, reply=reply, is_prefilled=ahead.skips)
    return view.of_conversation(_passed(moved, ahead, at), at)


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


def _parsed(block: Block, raw: Mapping[str, object]) -> Reply:
    try:
        return answers.parse(block, raw)
    except InvalidAnswer as invalid:
        raise InvalidRequest(str(invalid), violations=[invalid.violation]) from None


def _refuse_unless_live(project: Project, at: datetime) -> None:
    if project.is_live_at(at):
        return
    if project.is_pending_at(at) or not project.was_opened_by(at):
        raise Conflict("This project is not open yet.")
    raise Conflict("This project is closed: it takes no answers now. What was answered before is kept.")
