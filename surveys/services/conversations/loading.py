"""A conversation being moved: loaded under lock, its privacy kept, its move written down."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass, replace
from datetime import datetime

from communities.actors import Actor
from communities.errors import Conflict, NotFound
from communities.models import Identity
from communities.services import members
from communities.services.members import HeldMember
from surveys.engine.script import Block, Script
from surveys.engine.walk import answers, runner
from surveys.engine.walk.answers import Reply
from surveys.engine.walk.runner import State, Turn
from surveys.models import Conversation, Project
from surveys.services import access, anonymity, events
from surveys.services.conversations import effects, repository
from surveys.services.conversations.admission import Respondent
from surveys.services.conversations.repository import MoveChanges, TallyChange
from surveys.services.scripts import cache as script_cache
from surveys.services.scripts import editing as scripts

NO_CONVERSATION = "There is no such conversation."


class LimitReached(Conflict):
    """This respondent has completed the project as often as it allows."""

    def __init__(self) -> None:
        super().__init__("This respondent has completed this project as often as it allows.")


@dataclass(slots=True)
class LoadedConversation:
    """A conversation with all that a move needs."""

    conversation: Conversation
    script: Script
    state: State
    held: HeldMember | None = None  # the member who begins it

    @property
    def project(self) -> Project:
        return self.conversation.project

    @property
    def block(self) -> Block | None:
        """What waits for the respondent; None at the end."""
        return runner.current_block(self.script, self.state)

    @property
    def is_completed(self) -> bool:
        return self.conversation.completed_at is not None

    def is_changeable_at(self, at: datetime) -> bool:
        """Whether a completed one may still be taken back to its vote (decisions 8.9)."""
        return self.project.is_poll and bool(self.project.change_poll) and self.project.is_live_at(at)

    def can_go_back_at(self, at: datetime) -> bool:
        reachable = self.is_changeable_at(at) if self.is_completed else self.project.is_live_at(at)
        return reachable and runner.can_go_back(self.state)


def new(
    *, project: Project, respondent: Respondent, at: datetime, seed: int | None = None
) -> tuple[LoadedConversation, Turn]:
    """A conversation that is not saved yet, and its first turn. Without a `seed` chance orders options.

    Refuses a member who has left or was erased since they were admitted; one who is there is kept from it.
    """
    held = None
    if respondent.is_member and respondent.user_id is not None:
        held = members.hold(community_id=project.community_id, user_id=respondent.user_id)
        if held is None:
            raise Conflict("Whoever responds here is no member of this community any more.")
    script = scripts.load(project_id=project.pk, revision=project.revision)
    turn = runner.begin(script)
    moment = anonymity.rounded(project=project, at=at)
    conversation = Conversation(
        id=anonymity.new_id(project=project),
        project=project,
        provider=respondent.provider,
        seed=secrets.randbits(63) if seed is None else seed,
        state=_as_json(turn.state, project),
        is_settled=not project.is_anonymous,
        started_at=moment,
        updated_at=moment,
    )
    _remember(conversation, respondent, at)
    return LoadedConversation(conversation, script, turn.state, held), turn


def locked(*, conversation_id: uuid.UUID, actor: Actor | None = None) -> LoadedConversation:
    """A conversation to be moved. An `actor` must be allowed to edit its project; None needs no check.

    Refuses one whose project has changed its privacy since it began.
    """
    conversation = repository.lock(conversation_id=conversation_id)
    if conversation is None:
        raise NotFound(NO_CONVERSATION)
    if actor is not None:
        access.require_editor(actor=actor, project=conversation.project, missing=NO_CONVERSATION)
    if anonymity.is_anonymous(conversation.pk) != conversation.project.is_anonymous:
        raise Conflict("The privacy of this project has changed since this conversation began: begin anew.")
    return of(conversation)


def of(conversation: Conversation) -> LoadedConversation:
    """The conversation with its script and state; in a script written anew since, where it stands there."""
    project = conversation.project
    kept = script_cache.get(project.pk, project.revision)
    script, state = kept.script, State.from_json(conversation.state)
    # Who only reads holds no lock: the script may have been written anew since the project's row was read.
    project.revision = kept.stored.revision
    if conversation.state.get("revision") == project.revision:
        return LoadedConversation(conversation, script, state)
    is_over = conversation.completed_at is not None and not (project.is_poll and project.change_poll)
    if is_over:
        state = runner.completed_state(script, state)
    else:
        state = runner.realign(script, state)
        is_past_the_end = runner.current_block(script, state) is None and conversation.completed_at is None
        if is_past_the_end and runner.can_go_back(state):  # the respondent's own move has to end it
            state = runner.back(script, state).state
    return LoadedConversation(conversation, script, state)


def save(
    talk: LoadedConversation,
    turn: Turn,
    *,
    at: datetime,
    block: Block | None = None,
    reply: Reply | None = None,
    is_new: bool = False,
) -> None:
    """Write a turn down: the conversation, the reply to `block`, what it sets off, the counts.

    Completion drops the answers that became hidden. Refuses a completion over the limit.
    """
    completes = turn.completes and not talk.is_completed
    replaced = talk.state.replies.get(block.id or 0) if block else None
    was_listed = talk.conversation.is_listed
    reached = _reached(talk, turn)
    talk.state = turn.state
    recipient = _recipient(talk, at) if reached or completes else None
    dropped = _drop_hidden(talk) if completes else {}
    if recipient is not None:
        talk.state = effects.reach(recipient, talk.script, talk.state, reached)
    if completes:
        _complete(talk, recipient, at)
    _note(talk, at)
    taken_away = sum(answers.is_answer(kept) for kept in (replaced, *dropped.values()))
    move = MoveChanges(
        conversation=talk.conversation,
        block_id=block.id if block else None,
        given=tuple(answers.rows(block, reply)) if block and reply else (),
        replaces=answers.is_answer(replaced),
        drops=tuple(dropped),
        counts=TallyChange(
            answered=answers.is_answer(reply) - taken_away,
            completed=int(completes),
            listed=talk.conversation.is_listed - was_listed,
        ),
        is_new=is_new,
    )
    if completes:
        events.response_submitted(talk.conversation, repository.save_last(move), at=at)
    else:
        repository.save(move)


def _recipient(talk: LoadedConversation, at: datetime) -> effects.Recipient | None:
    """The member who gets what the move gives, if it is one."""
    return effects.recipient_of(
        conversation=talk.conversation, earner=earner(talk.conversation), held=talk.held, at=at
    )


def earner(conversation: Conversation) -> effects.Earner | None:
    """Who may earn something by a conversation, as far as it is known: somebody admitted as a member.

    An anonymous one knows it while it runs. Whom a caller names by an `external_id` has a user too, but is
    told by that name on the web.
    """
    if conversation.sealed_respondent is not None:
        remembered = _remembered(conversation)
        if remembered is None or remembered.user_id is None:
            return None
        return effects.Earner(remembered.user_id, remembered.respondent)
    is_external = conversation.provider == Identity.Provider.WEB and conversation.platform_id is not None
    if conversation.user_id is None or conversation.respondent is None or is_external:
        return None
    return effects.Earner(conversation.user_id, conversation.respondent)


def _as_json(state: State, project: Project) -> dict[str, object]:
    """The state as it may be kept. On anonymous projects what was given would mark a member's answers."""
    kept = replace(state, fired={}) if project.is_anonymous else state
    return {**kept.as_json(), "revision": project.revision}


def _reached(talk: LoadedConversation, turn: Turn) -> list[Block]:
    """Action blocks that this turn comes to or leaves. One is left unfired where the script was changed."""
    if not talk.script.has_actions:
        return []
    reached = {block.id: block for block in (talk.block, turn.show) if block is not None}
    return [block for block in reached.values() if block.action_kind is not None]


def most_completions(project: Project) -> int | None:
    """How often one respondent may complete. A vote that may be changed is changed, not cast again."""
    if project.is_poll and project.change_poll and not project.is_anonymous:
        return 1
    return project.max_completes_per_user


def _drop_hidden(talk: LoadedConversation) -> dict[int, Reply]:
    """Take the answers that became hidden out of the state; which they were, by block."""
    dropped = {block.id or 0: reply for block, reply in runner.hidden_replies(talk.script, talk.state)}
    kept = {block_id: reply for block_id, reply in talk.state.replies.items() if block_id not in dropped}
    talk.state = replace(talk.state, replies=kept)
    return dropped


def _complete(talk: LoadedConversation, recipient: effects.Recipient | None, at: datetime) -> None:
    """End the conversation, count it for its respondent and give what the end gives. Refuses over the limit.

    Whoever has no name has no limit, nor has somebody whom an anonymous conversation forgot (8.8).
    """
    conversation, project = talk.conversation, talk.project
    conversation.completed_at = anonymity.rounded(project=project, at=at)
    conversation.session_number = None if project.is_anonymous else 1
    respondent = conversation.respondent
    if conversation.sealed_respondent is not None:
        remembered = _remembered(conversation)
        respondent = remembered.respondent if remembered else None
    if respondent is None:
        return
    gifts = effects.due_at_end(recipient, talk.script, talk.state) if recipient else []
    completed = repository.complete(
        project_id=project.pk,
        respondent=respondent,
        at_most=most_completions(project),
        actions=[(gift.action, gift.scope) for gift in gifts],
    )
    if completed is None:
        raise LimitReached
    if not project.is_anonymous:
        conversation.session_number = completed.session_number
    if recipient is not None:
        fired = [gift for gift in gifts if gift.action in completed.fired]
        talk.state = effects.complete(recipient, talk.script, talk.state, fired)


def _note(talk: LoadedConversation, at: datetime) -> None:
    """Bring the row up to the state, as far as privacy lets it."""
    conversation, replies = talk.conversation, talk.state.replies.values()
    conversation.state = _as_json(talk.state, talk.project)
    conversation.is_listed = talk.is_completed or any(map(answers.is_answer, replies))
    conversation.is_settled = not talk.project.is_anonymous
    conversation.updated_at = anonymity.rounded(project=talk.project, at=at)
    if conversation.sealed_respondent is not None:
        remembered = None if talk.is_completed else _remembered(conversation)
        conversation.sealed_respondent = remembered and _sealed(conversation, replace(remembered, seen_at=at))


def _remember(conversation: Conversation, respondent: Respondent, at: datetime) -> None:
    """Note who responds. On an anonymous project nothing that could be read, and no row about them."""
    project = conversation.project
    who = respondent.who and anonymity.respondent_hash(project_id=project.pk, who=respondent.who)
    if project.is_anonymous:
        if who:
            remembered = anonymity.RememberedRespondent(who, respondent.user_id, at)
            conversation.sealed_respondent = _sealed(conversation, remembered)
        return
    conversation.respondent = who
    conversation.platform_id = respondent.platform_id
    conversation.user_id = respondent.user_id
    if respondent.external_id is not None:
        conversation.user_id = members.user_for_external_id(
            community_id=project.community_id, external_id=respondent.external_id
        )


def _sealed(conversation: Conversation, remembered: anonymity.RememberedRespondent) -> bytes:
    return anonymity.seal(
        project_id=conversation.project_id, conversation_id=conversation.pk, remembered=remembered
    )


def _remembered(conversation: Conversation) -> anonymity.RememberedRespondent | None:
    sealed = conversation.sealed_respondent
    assert sealed is not None
    return anonymity.unseal(
        project_id=conversation.project_id, conversation_id=conversation.pk, sealed=bytes(sealed)
    )
