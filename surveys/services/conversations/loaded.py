"""A conversation with its script and state."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, NotFound
from communities.services.people import members
from communities.services.people.members import LockedMember
from surveys.engine.script import Block, Script
from surveys.engine.walk import runner
from surveys.engine.walk.answers import Reply
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services.conversations import repository, respondents
from surveys.services.conversations.admission import Missing, NotAdmitted
from surveys.services.ground import access, anonymity
from surveys.services.ground.anonymity import RememberedRespondent
from surveys.services.scripts import cache as script_cache

NO_CONVERSATION = "There is no such conversation."


@dataclass(frozen=True, slots=True)
class LoadedConversation:
    """A conversation with everything that a move needs.

    `remembered` is the respondent of a running conversation on an anonymous project, decrypted once; None
    after the end, for nameless respondents and on other projects. `held` is the member who begins the
    conversation, under a lock.
    """

    conversation: Conversation
    script: Script
    state: State
    remembered: RememberedRespondent | None = None
    held: LockedMember | None = None
    stops: bool = False  # at the end, for a review of the answers
    project: Project = field(init=False)
    block: Block | None = field(init=False)  # the block that the respondent sees now; None at the end
    is_completed: bool = field(init=False)

    def __post_init__(self) -> None:
        """Look the current block up once, because each part of a move reads it."""
        object.__setattr__(self, "project", self.conversation.project)
        object.__setattr__(self, "block", runner.current_block(self.script, self.state))
        object.__setattr__(self, "is_completed", self.conversation.completed_at is not None)

    @classmethod
    def of(cls, conversation: Conversation, *, stops: bool = False) -> Self:
        """The conversation with its script and state. A state of an earlier script is realigned."""
        project = conversation.project
        cached = script_cache.of(project)
        script, state = cached.script, State.from_json(conversation.state)
        # A reader holds no lock, so the script may have changed after the project's row was read.
        project.revision = cached.stored.revision
        remembered = respondents.unsealed(conversation) if conversation.sealed_respondent else None
        if conversation.state.get("revision") == project.revision:
            return cls(conversation, script, state, remembered, stops=stops)
        is_over = conversation.completed_at is not None and not (project.is_poll and project.change_poll)
        if is_over:
            state = runner.completed_state(script, state)
        else:
            state = runner.realign(script, state)
            is_past_the_end = (
                runner.current_block(script, state) is None and conversation.completed_at is None
            )
            waits = conversation.state.get(Conversation.AT_REVIEW, False)
            # Only a move of the respondent may complete it.
            if is_past_the_end and not waits and runner.can_go_back(state):
                state = runner.back(script, state).state
        return cls(conversation, script, state, remembered, stops=stops)

    @classmethod
    def locked(cls, *, conversation_id: uuid.UUID, actor: Actor | None = None, stops: bool = False) -> Self:
        """A conversation under a row lock. An `actor` must be allowed to edit its project.

        Refuses a conversation that began before a change of the project's privacy, a conversation of a
        deactivated person, a partial imported response, which nobody can continue, and one that a merge of
        its person left partial (rule 6.470).
        """
        conversation = repository.lock(conversation_id=conversation_id)
        if conversation is None:
            raise NotFound(NO_CONVERSATION)
        if actor is not None:
            access.require_owner(actor=actor, project=conversation.project, missing=NO_CONVERSATION)
        if anonymity.is_anonymous(conversation.pk) != conversation.project.is_anonymous:
            raise Conflict(
                "The privacy of this project has changed since this conversation began. "
                "Begin a new conversation."
            )
        if conversation.provider == Conversation.Provider.IMPORT and conversation.completed_at is None:
            raise Conflict("This response was imported: it takes no further answers.")
        if conversation.is_superseded:
            raise Conflict("You have two conversations here. Please go on with the other one.")
        loaded = cls.of(conversation, stops=stops)
        loaded.require_active()
        return loaded

    @property
    def is_at_review(self) -> bool:
        """Whether all blocks are passed, and only the respondent's consent to the end is missing."""
        return self.block is None and not self.is_completed

    @property
    def locked_reply(self) -> Reply | None:
        """The answer to the current block if it was graded and cannot be changed; None otherwise."""
        if not (self.project.lock_graded_answers and self.script.shows_correctness):
            return None
        return runner.settled_reply(self.script, self.state)

    def is_changeable_at(self, at: datetime) -> bool:
        """Whether a completed vote may still be changed or retracted (rules 6.32 and 6.33)."""
        return self.project.is_poll and bool(self.project.change_poll) and self.project.is_live_at(at)

    def can_go_back_at(self, at: datetime) -> bool:
        if not runner.can_go_back(self.state):
            return False
        return self.is_changeable_at(at) if self.is_completed else self.project.is_live_at(at)

    def require_active(self) -> None:
        """Refuse a conversation whose person was deactivated since it began (rule 6.5).

        Raises NotAdmitted. An anonymous conversation that has forgotten its person cannot be refused.
        """
        remembered = self.remembered
        user_id = remembered.user_id if remembered else None
        is_deactivated = self.conversation.is_of_deactivated
        if is_deactivated or (user_id is not None and members.is_deactivated(user_id=user_id)):
            raise NotAdmitted([Missing.ACTIVE_ACCOUNT])
