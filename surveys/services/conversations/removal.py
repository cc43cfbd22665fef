"""Conversations are taken back, deleted and expire, with all that was counted of them."""

from __future__ import annotations

import uuid
from datetime import datetime

from communities.ground.errors import Conflict
from communities.ground.transactions import in_transaction
from surveys.engine.walk import answers
from surveys.engine.walk.runner import State
from surveys.models import Conversation
from surveys.services import events
from surveys.services.conversations import effects, places, repository, respondents
from surveys.services.conversations.effects import Recipient
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.conversations.repository import TallyChange


@in_transaction
def retract(*, conversation_id: uuid.UUID, at: datetime) -> None:
    """Delete a vote on behalf of its voter. Refuses if the poll does not allow changes, or is closed."""
    loaded = LoadedConversation.locked(conversation_id=conversation_id, actor=None)
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


def forget(*, conversation: Conversation, at: datetime) -> None:
    """Delete a locked conversation that is no response. No count and no event contains it."""
    repository.delete(conversation=conversation, at=at)


def _remove(conversation: Conversation, voter: Recipient | None, at: datetime) -> None:
    replies = State.from_json(conversation.state).counted
    is_screened_out = conversation.is_screened_out
    if conversation.completed_at is not None and not is_screened_out:
        places.free(conversation.project, conversation.pk)
    repository.delete(conversation=conversation, at=at)
    if voter is not None:
        effects.unwind(voter)
    repository.count(
        project_id=conversation.project_id,
        counts=TallyChange(
            answered=0 if is_screened_out else -answers.count(replies),
            completed=-1 if conversation.completed_at and not is_screened_out else 0,
            listed=-1 if conversation.is_listed else 0,
        ),
    )
    events.response_deleted(conversation, at=at)
