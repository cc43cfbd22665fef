"""Begins conversations and reads them; `moves` moves those that have begun.

Every entrance (interface, pages, chat) calls these functions and renders the `ConversationView` that they
return. `actor` is the caller of the interface, who must be allowed to edit the project. None is a respondent
on their own page, whose access `admission` decides.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, NotFound
from communities.ground.transactions import in_transaction
from surveys.engine.script import Block
from surveys.engine.walk import presentation
from surveys.engine.walk.prefill import NOTHING, Prefill
from surveys.models import Conversation, Project
from surveys.services.conversations import admission, completions, repository, respondents, saving, view
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.loaded import NO_CONVERSATION, LoadedConversation
from surveys.services.conversations.moves import (
    at_the_group,
    at_the_question,
    parsed,
    passed,
    proceed,
    refuse_unless_live,
    take,
    take_group,
)
from surveys.services.conversations.repository import RespondentHistory
from surveys.services.conversations.saving import LimitReached
from surveys.services.conversations.view import ConversationView
from surveys.services.ground import access, anonymity
from surveys.services.projects import schedule
from surveys.services.scripts import cache as script_cache

_BEGINS_ELSEWHERE = "This respondent is beginning in another window. Please retry."


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
        loaded = passed(loaded, ahead, at)
    if group:
        loaded = at_the_group(loaded)
    if loaded.block is None or loaded.block.id != block_id:
        return view.of_conversation(loaded, at, resumed=True)
    moved = replace(loaded, stops=stops)
    if group:
        return take_group(moved, group, at, ahead)
    return proceed(moved, at, ahead) if raw is None else take(moved, raw, at, ahead=ahead)


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
    return take(at_the_question(loaded, raw), raw, at, is_new=earlier is None)


def require_valid(*, project: Project, block: Block, raw: Mapping[str, object]) -> None:
    """Refuse an invalid answer to a block before a conversation begins or a count changes."""
    script = script_cache.script_of(project)
    parsed(presentation.effective_block(script, block), raw)


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


def has_ended(*, conversation_id: uuid.UUID) -> bool:
    """Whether a conversation has been completed. A vote that is given anew has been, too."""
    return Conversation.objects.filter(pk=conversation_id, completed_at__isnull=False).exists()


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
    refuse_unless_live(history.project, at)
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
