"""Conversations: begin, answer, go on, go back, take back. Lock → engine → save → words.

Every entrance (interface, pages, chat) calls these and renders the `ConversationView` they return. `actor` is
who asks over the interface, and must be allowed to edit the project; None is a respondent on their own page,
whose access `admission` decides.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime

from communities.actors import Actor
from communities.errors import Conflict, InvalidRequest, NotFound
from communities.transactions import in_transaction
from surveys.engine.script import Block
from surveys.engine.walk import answers, presentation, runner
from surveys.engine.walk.answers import InvalidAnswer, Reply
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services import access, anonymity, events
from surveys.services.conversations import admission, effects, loading, repository
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.loading import NO_CONVERSATION, LimitReached, LoadedConversation
from surveys.services.conversations.repository import RespondentHistory, TallyChange
from surveys.services.conversations.view import ConversationView, render
from surveys.services.projects import schedule


@in_transaction
def begin(
    *,
    project_id: int,
    respondent: Respondent,
    at: datetime,
    actor: Actor | None = None,
    seed: int | None = None,
) -> ConversationView:
    """Start a conversation, or give back the one that this respondent has open (`resumed`).

    Refuses a project that is not live, whoever is not let in, and whoever has reached the limit. A poll
    whose vote may be changed gives the completed conversation back. On anonymous projects starting
    again is always new. `seed` (below 2**63) orders the options, where some were shown before there is a row.
    """
    found = _admitted(project_id, respondent, at, actor)
    earlier = _resumable(found)
    if earlier is not None:
        return _told(loading.of(earlier), at, resumed=True)
    talk, turn = loading.new(project=found.project, respondent=respondent, at=at, seed=seed)
    if turn.completes:  # there is nothing to show at all
        loading.save(talk, turn, at=at, is_new=True)
    elif not repository.insert(conversation=talk.conversation):
        return _told(_come_between(talk), at, resumed=True)
    elif turn.show is not None and turn.show.action_kind is not None:
        loading.save(
            talk, turn, at=at
        )  # the row is there first: whoever comes between has set off nothing yet
    return _told(talk, at)


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
    """Begin and answer the first question in one: what a poll's page sends. Refuses as both do.

    Whoever has voted already, where votes may be changed, changes theirs.
    """
    found = _admitted(project_id, respondent, at, actor)
    earlier = _resumable(found)
    if earlier is None:
        talk, _ = loading.new(project=found.project, respondent=respondent, at=at, seed=seed)
    else:
        talk = loading.locked(conversation_id=earlier.pk)
    _reach(talk, raw)
    return _take(talk, raw, at, is_new=earlier is None)


def look(*, project_id: int, respondent: Respondent, at: datetime) -> tuple[ConversationView | None, bool]:
    """What a respondent has here, whether it is open or not, and whether they are at the limit.

    That is their open conversation, else their last; on anonymous projects nobody has one. Begins nothing.
    """
    who = respondent.who and anonymity.respondent_hash(project_id=project_id, who=respondent.who)
    found = repository.look_for_respondent(project_id=project_id, respondent=who)
    if found is None:
        raise NotFound("There is no such project.")
    most = loading.most_completions(found.project)
    is_at_limit = most is not None and found.completions >= most
    if found.conversation is None or found.project.is_anonymous:
        return None, is_at_limit
    return _told(loading.of(found.conversation), at, resumed=True), is_at_limit


def get(*, conversation_id: uuid.UUID, at: datetime, actor: Actor | None = None) -> ConversationView:
    """The conversation as it stands."""
    conversation = repository.find(conversation_id=conversation_id)
    if conversation is None:
        raise NotFound(NO_CONVERSATION)
    if actor is not None:
        access.require_editor(actor=actor, project=conversation.project, missing=NO_CONVERSATION)
    return _told(loading.of(conversation), at, resumed=True)


@in_transaction
def answer(
    *, conversation_id: uuid.UUID, raw: Mapping[str, object], at: datetime, actor: Actor | None = None
) -> ConversationView:
    """Take the answer to the current block: `raw` has `block_id` and one way of answering (engine/answers).

    The answer taken last, sent again, changes nothing. Refuses any other block than the current one, an
    answer that does not fit, and one that comes after closing.
    """
    return _take(loading.locked(conversation_id=conversation_id, actor=actor), raw, at)


@in_transaction
def go_on(*, conversation_id: uuid.UUID, at: datetime, actor: Actor | None = None) -> ConversationView:
    """Leave a block that only states. Refuses where a question waits, or nothing does."""
    talk = loading.locked(conversation_id=conversation_id, actor=actor)
    if talk.block is None:
        raise Conflict("This conversation is over.")
    if talk.block.asks:
        raise Conflict("The current block is a question: it takes an answer, or a skip where it is optional.")
    if not talk.is_completed:
        _refuse_unless_live(talk.project, at)
    loading.save(talk, runner.proceed(talk.script, talk.state), at=at)
    return _told(talk, at)


@in_transaction
def back(*, conversation_id: uuid.UUID, at: datetime, actor: Actor | None = None) -> ConversationView:
    """One shown step back, whatever its kind; from the end of a poll that allows changes, to the vote.

    The answers given stay until they are changed. Refuses at the first step, and when all is over.
    """
    talk = loading.locked(conversation_id=conversation_id, actor=actor)
    if talk.is_completed and not (talk.project.is_poll and talk.project.change_poll):
        raise Conflict("This conversation is over.")
    _refuse_unless_live(talk.project, at)
    try:
        turn = runner.back(talk.script, talk.state)
        while talk.block is None and turn.show is not None and not turn.show.asks:
            turn = runner.back(talk.script, turn.state)
    except LookupError:
        raise Conflict("This is the first step.") from None
    loading.save(talk, turn, at=at)
    return _told(talk, at)


@in_transaction
def retract(*, conversation_id: uuid.UUID, at: datetime, actor: Actor | None = None) -> None:
    """Take a vote back, by its voter. Refuses where the poll does not allow changes, or is closed."""
    talk = loading.locked(conversation_id=conversation_id, actor=actor)
    if not talk.is_changeable_at(at):
        raise Conflict("This poll does not allow a vote to be taken back.")
    remove(conversation=talk.conversation, at=at)


def remove(*, conversation: Conversation, at: datetime) -> None:
    """Delete a locked conversation with its answers, and take them out of every count.

    A vote gives its XP back; what else was given stays (decisions 8.10).
    """
    replies = State.from_json(conversation.state).replies.values()
    is_vote = conversation.project.is_poll and conversation.completed_at is not None
    voter = None
    if is_vote:  # locked before the limit, like by whoever completes
        earner = loading.earner(conversation)
        voter = effects.recipient_of(conversation=conversation, earner=earner, at=at)
    repository.delete(conversation=conversation)
    if voter is not None:
        effects.unwind(voter)
    repository.count(
        project_id=conversation.project_id,
        counts=TallyChange(
            answered=-sum(map(answers.is_answer, replies)),
            completed=-1 if conversation.completed_at else 0,
            listed=-1 if conversation.is_listed else 0,
        ),
    )
    events.response_deleted(conversation, at=at)


def _admitted(
    project_id: int, respondent: Respondent, at: datetime, actor: Actor | None
) -> RespondentHistory:
    """The project and what this respondent has there: first the state, then who may (decisions 14.15)."""
    who = respondent.who and anonymity.respondent_hash(project_id=project_id, who=respondent.who)
    found = repository.find_for_respondent(project_id=project_id, respondent=who)
    if found is None:
        raise NotFound("There is no such project.")
    if actor is not None:
        access.require_editor(actor=actor, project=found.project)
    _refuse_unless_live(found.project, at)
    schedule.catch_up(found.project, at=at)
    admission.check(project=found.project, respondent=respondent)
    earlier, most = _resumable(found), loading.most_completions(found.project)
    has_voted = earlier is not None and earlier.completed_at is not None
    if not has_voted and most is not None and found.completions >= most:
        raise LimitReached
    return found


def _resumable(found: RespondentHistory) -> Conversation | None:
    """What this respondent goes on with: an open conversation, or a vote that may be changed."""
    earlier, project = found.conversation, found.project
    if earlier is None or project.is_anonymous:
        return None
    return earlier if earlier.completed_at is None or (project.is_poll and project.change_poll) else None


def _come_between(talk: LoadedConversation) -> LoadedConversation:
    """The conversation that another request of the same respondent began just now."""
    conversation = talk.conversation
    found = repository.find_for_respondent(
        project_id=conversation.project_id, respondent=conversation.respondent
    )
    if found is None or found.conversation is None:
        raise Conflict("This respondent is beginning elsewhere at this moment.", retry_after=1)
    return loading.of(found.conversation)


def _reach(talk: LoadedConversation, raw: Mapping[str, object]) -> None:
    """To the question that a poll's page shows together with the words around it."""
    if talk.is_completed:
        while (talk.block is None or talk.block.id != raw["block_id"]) and runner.can_go_back(talk.state):
            talk.state = runner.back(talk.script, talk.state).state
        return
    while talk.block is not None and not talk.block.asks:
        talk.state = runner.proceed(talk.script, talk.state).state


def _take(
    talk: LoadedConversation, raw: Mapping[str, object], at: datetime, *, is_new: bool = False
) -> ConversationView:
    block = talk.block
    if block is None or block.id != raw["block_id"]:
        return _repeated(talk, raw, at)
    if not block.asks:
        raise Conflict("The current block takes no answer: go on with `continue`.")
    _refuse_unless_live(talk.project, at)
    reply = _read(presentation.effective_block(talk.script, block), raw)
    turn = runner.answer(talk.script, talk.state, reply)
    loading.save(talk, turn, at=at, block=block, reply=reply, is_new=is_new)
    return _told(talk, at, feedback=turn.feedback)


def _repeated(talk: LoadedConversation, raw: Mapping[str, object], at: datetime) -> ConversationView:
    """The answer taken last, sent again: the conversation as it stands. Refuses any other."""
    last = runner.latest_reply(talk.script, talk.state)
    if last is not None and last[0].id == raw["block_id"]:
        block, reply = last
        try:
            is_same = answers.parse(block, raw) == reply
        except InvalidAnswer:
            is_same = False
        if is_same:
            return _told(talk, at, feedback=runner.feedback(talk.script, block, reply))
    if talk.block is None:
        raise Conflict("This conversation is over.")
    raise Conflict("This is not the current block of the conversation.")


def _read(block: Block, raw: Mapping[str, object]) -> Reply:
    try:
        return answers.parse(block, raw)
    except InvalidAnswer as bad:
        raise InvalidRequest(str(bad), violations=[bad.violation]) from None


def _refuse_unless_live(project: Project, at: datetime) -> None:
    if project.is_live_at(at):
        return
    if project.is_pending_at(at):
        raise Conflict("This project is not open yet.")
    raise Conflict("This project is closed: it takes no answers now. What was answered before is kept.")


def _told(
    talk: LoadedConversation, at: datetime, *, feedback: str | None = None, resumed: bool = False
) -> ConversationView:
    return render(
        conversation=talk.conversation,
        script=talk.script,
        state=talk.state,
        can_go_back=talk.can_go_back_at(at),
        feedback=feedback,
        resumed=resumed,
        at=at,
    )
