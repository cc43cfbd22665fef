"""Saves the moves of a conversation, with their effects and counts."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby

from communities.ground.errors import Conflict, InvalidRequest, violation
from surveys.engine import packing
from surveys.engine.script import Block, Script
from surveys.engine.walk import answers, counting, runner, scoring
from surveys.engine.walk.answers import AnswerRow, Reply
from surveys.engine.walk.runner import State, Turn
from surveys.models import Conversation, Project, Reading
from surveys.services import events
from surveys.services.conversations import completions, effects, ends, places, repository, respondents
from surveys.services.conversations.admission import Respondent, consent_mark, privacy_mark, shown_provider
from surveys.services.conversations.effects import Earner, Recipient
from surveys.services.conversations.loaded import LoadedConversation
from surveys.services.conversations.repository import MoveChanges, TallyChange
from surveys.services.ground import anonymity, field_groups, metadata
from surveys.services.representations.response import StoredAnswers
from surveys.services.scripts import cache as script_cache

LEAST_HASTY = 5  # questions after the first
NO_CONSENT = "`consent` must be true: respondents of this project agree to its `settings.consent` first."


class NotAgreed(InvalidRequest):
    """The respondent has not agreed to the project's present `consent`."""

    def __init__(self) -> None:
        super().__init__(NO_CONSENT, violations=[violation("consent", "required", NO_CONSENT)])


class LimitReached(Conflict):
    """The respondent has reached the project's limit of completions."""

    def __init__(self) -> None:
        super().__init__("This respondent has completed this project as often as it allows.")


def new(
    *, project: Project, respondent: Respondent, at: datetime, seed: int | None = None
) -> tuple[LoadedConversation, Turn]:
    """A conversation that is not saved yet, and its first turn. Without a `seed` the option order is random.

    Locks the member who responds, so that they cannot be erased during the move. Refuses a member who has
    left or was erased since they were admitted, a respondent who has not agreed to the project's `consent`,
    one who was shown another privacy mode, and one for whom there is no place (`places.Full`).
    """
    if respondent.privacy_mark is not None and respondent.privacy_mark != privacy_mark(project):
        raise Conflict("Who sees the answers has changed since this page was made.")
    if project.consent and not _agrees(respondent, project.consent):
        raise NotAgreed
    fields = metadata.allowed(project, respondent.metadata)
    held = None
    if respondent.is_member and respondent.user_id is not None:
        held = effects.lock_member(project, respondent.user_id)
        if held is None:
            raise Conflict("This respondent is no longer a member of this community.")
    language = metadata.language_of(project, respondent.language)
    places.require_free(project, State(fields=fields, language=language))
    script = script_cache.script_of(project)
    turn = runner.begin(
        script,
        fields=fields,
        display_name="" if project.is_anonymous else respondent.display_name,
        language=language,
    )
    turn = ends.ended_early(project, script, turn)
    moment = anonymity.rounded(project=project, at=at)
    if project.consent:
        agreed = {"text": project.consent, "at": field_groups.as_text(moment)}
        turn = replace(turn, state=replace(turn.state, consent=agreed))
    conversation = Conversation(
        id=anonymity.new_id(project=project),
        project=project,
        provider=shown_provider(project=project, respondent=respondent),
        seed=secrets.randbits(63) if seed is None else seed,
        state=storable_state(script, turn.state, project),
        packed=packing.pack(turn.state.counted),
        is_settled=not project.is_anonymous,
        is_suspected=respondent.is_suspected,
        started_at=moment,
        updated_at=moment,
    )
    remembered = respondents.identify(conversation, respondent, at)
    return LoadedConversation(conversation, script, turn.state, remembered, held), turn


def _agrees(respondent: Respondent, text: str) -> bool:
    return respondent.consents and respondent.agreed_to in (None, consent_mark(text))


def save(
    loaded: LoadedConversation,
    turn: Turn,
    *,
    at: datetime,
    block: Block | None = None,
    reply: Reply | None = None,
    is_new: bool = False,
    is_prefilled: bool = False,
) -> LoadedConversation:
    """Save a move with its effects and counts. Returns the conversation after the move.

    Writes the conversation, the `reply` to `block`, effects such as XP, and the project's counts. Only
    replies that count have answer rows: if other replies hide a block, its rows are deleted, and they return
    with the block (rule 6.29). If the turn adds replies to other blocks, their rows are written too, so one
    call can save several steps. A completion drops the replies that do not count. Refuses a completion over
    the limit. `is_prefilled` says that questions may have been passed without a form of their own.
    """
    conversation, script = loaded.conversation, loaded.script
    if loaded.project.ends:
        turn = ends.ended_early(loaded.project, script, turn)
    completes = turn.completes and not loaded.is_completed
    counted_before = loaded.state.counted
    replaced = counted_before.get(block.id or 0) if block else None
    was_listed = conversation.is_listed
    reached = _actions_reached(loaded, turn)

    state = counting.settled(script, turn.state)
    if completes and state.left:
        state = replace(state, replies=state.counted, left=frozenset())
    earner, recipient = None, None
    if reached or completes:
        earner, recipient = respondents.recipient_of(
            conversation, remembered=loaded.remembered, held=loaded.held, at=at
        )
    if recipient is not None:
        state = effects.reach(recipient, script, state, reached)
    screened_out = ends.outcome(loaded.project, script, state) if completes else None
    if completes:
        state = _complete(loaded, state, earner, recipient, at, is_screened_out=screened_out is not None)
        if not is_prefilled and _is_hasty(loaded, state, at):
            conversation.is_suspected = True
    elif loaded.is_completed and reply != replaced:
        places.move(loaded.project, conversation.pk, state)
    if recipient is not None:
        recipient.finish()
    moved = replace(loaded, state=state, remembered=None if completes else loaded.remembered)
    before = _derived(conversation)
    counted = {} if screened_out else state.counted
    answered = answers.count(counted)
    _update_row(moved, at, counted=counted, is_answered=answered > 0, outcome=screened_out)

    changes = MoveChanges(
        conversation=conversation,
        block_id=block.id if block else None,
        given=answers.rows(block, reply) if block and reply and not screened_out else (),
        replaces=answers.is_answer(replaced),
        restores=tuple(_restored(script, counted_before, counted, block)),
        drops=tuple(block_id for block_id in counted_before if block_id not in counted),
        counts=TallyChange(
            answered=answered - answers.count(counted_before),
            completed=int(completes and not screened_out),
            listed=conversation.is_listed - was_listed,
        ),
        is_new=is_new,
        rescores=_derived(conversation) != before and conversation.is_listed,
    )
    if screened_out:
        repository.save(changes)
        events.response_submitted(conversation, _kept(conversation), at=at)
    elif completes:
        events.response_submitted(conversation, repository.save_last(changes), at=at)
    elif loaded.is_completed and reply != replaced:
        events.response_updated(conversation, repository.save_last(changes), at=at)
    else:
        repository.save(changes)
    return moved


def _kept(conversation: Conversation) -> StoredAnswers:
    """The answers of a response that was screened out. Their rows are gone, and so are their readings."""
    Reading.objects.filter(conversation_id=conversation.pk).delete()
    rows = conversation.state[Conversation.KEPT]
    return StoredAnswers(*([row[name] for row in rows] for name in ("block_id", "option_id", "value")))


def _derived(conversation: Conversation) -> tuple[object, object]:
    """The stored scores and results of calculated blocks. Analyses use both."""
    return conversation.state.get("scores"), conversation.state.get("results")


def _actions_reached(loaded: LoadedConversation, turn: Turn) -> list[Block]:
    """The action blocks that this turn reaches or leaves.

    A block that is left counts because a changed script may have made it current without firing it. On
    anonymous projects it counts only in that case, because each block that may fire adds rows.
    """
    if not loaded.script.has_actions:
        return []
    is_changed = loaded.conversation.state.get("revision") != loaded.project.revision
    left = loaded.block if is_changed or not loaded.project.is_anonymous else None
    reached = {block.id: block for block in (left, turn.show) if block is not None}
    return [block for block in reached.values() if block.action_kind is not None]


def _restored(
    script: Script, before: Mapping[int, Reply], counted: Mapping[int, Reply], given: Block | None
) -> Iterator[tuple[int, AnswerRow]]:
    """The rows of the replies that count now and did not before, by block, but for the block `given`."""
    for block_id, reply in counted.items():
        if block_id not in before and (given is None or block_id != given.id):
            block = script.blocks[script.index_by_id[block_id]]
            yield from ((block_id, row) for row in answers.rows(block, reply))


def _complete(
    loaded: LoadedConversation,
    state: State,
    earner: Earner | None,
    recipient: Recipient | None,
    at: datetime,
    *,
    is_screened_out: bool,
) -> State:
    """Complete the conversation, count it for its respondent and give the gifts of the end.

    Returns the state after that. A response that is screened out takes no place, and counts for the limit of
    its respondent. It gives nothing, except on anonymous projects, where no gift would reveal an answer:
    there it gives the same as a completion (rule 1.181). Refuses a completion over the limits.
    Nameless respondents have no limit of their own, nor has a respondent whom an anonymous conversation no
    longer stores (rules 7.2 and 7.3).
    """
    conversation, project, remembered = loaded.conversation, loaded.project, loaded.remembered
    if not is_screened_out:
        places.take(project, conversation.pk, state)
    conversation.completed_at = anonymity.rounded(project=project, at=at)
    conversation.session_number = None if project.is_anonymous else 1
    respondent = remembered.respondent if remembered else conversation.respondent
    if respondent is None:
        return state
    recipient = None if is_screened_out and not project.is_anonymous else recipient
    gifts = effects.due_at_end(recipient, loaded.script, state) if recipient else []
    due = [(gift.action, gift.scope) for gift in gifts]
    limit = respondents.most_completions(project)
    if project.is_anonymous:
        completed = completions.complete_anonymously(
            project_id=project.pk,
            respondents=earner.respondents if earner else [respondent],
            at_most=limit,
            actions=due,
        )
    else:
        completed = completions.complete(
            project_id=project.pk, respondent=respondent, at_most=limit, actions=due
        )
    if completed is None:
        raise LimitReached
    conversation.session_number = completed.session_number
    if recipient is None:
        return state
    given = [gift for gift in gifts if gift.action in completed.fired]
    return effects.complete(recipient, loaded.script, state, given)


def _is_hasty(loaded: LoadedConversation, state: State, at: datetime) -> bool:
    """Whether a visitor without an account answered in less than a second a question (rule 6.246).

    Questions of a group are sent together, so they count as one. The time begins with the first form. Other
    callers send when they like, and on anonymous projects the row has neither a visitor nor exact times.
    """
    conversation, script = loaded.conversation, loaded.script
    account = conversation.user_id is not None or conversation.platform_id is not None
    if conversation.respondent is None or account or conversation.provider != Conversation.Provider.WEB:
        return False
    blocks = (script.blocks[script.index_by_id[each]] for each in state.path if each in script.index_by_id)
    forms = [block.group or str(block.id) for block in blocks if block.asks and block.id in state.replies]
    count = sum(1 for _ in groupby(forms)) - 1
    return count >= LEAST_HASTY and at - conversation.started_at < timedelta(seconds=count)


def _update_row(
    loaded: LoadedConversation,
    at: datetime,
    *,
    counted: Mapping[int, Reply],
    is_answered: bool,
    outcome: str | None,
) -> None:
    """Set the row's columns from the state, as far as privacy allows. `counted` are the counted replies, none
    if the response is screened out, which is the only `outcome`.
    """
    conversation, project, state = loaded.conversation, loaded.project, loaded.state
    conversation.state = storable_state(loaded.script, state, project)
    if loaded.is_at_review:
        conversation.state[Conversation.AT_REVIEW] = True
    conversation.packed = packing.pack(counted)
    conversation.is_listed = outcome is None and (loaded.is_completed or is_answered)
    conversation.outcome = outcome  # a refusal at the end is over
    if outcome is not None:
        conversation.state[Conversation.KEPT] = [
            {"block_id": block.id, "ordinal": row.ordinal, "option_id": row.option_id, "value": row.value}
            for block, reply in _in_order(loaded.script, state.counted)
            for row in answers.rows(block, reply)
        ]
    conversation.is_settled = is_settled = not project.is_anonymous
    conversation.updated_at = at if is_settled else anonymity.rounded(project=project, at=at)
    if conversation.sealed_respondent is not None:
        remembered = loaded.remembered
        conversation.sealed_respondent = remembered and respondents.sealed(
            conversation, replace(remembered, seen_at=at)
        )


def _in_order(script: Script, replies: Mapping[int, Reply]) -> Iterator[tuple[Block, Reply]]:
    """The replies that fit their blocks, with these, in the order of ids, as rows are read."""
    for block_id in sorted(replies):
        place = script.index_by_id.get(block_id)
        if place is not None and answers.fits(script.blocks[place], replies[block_id]):
            yield script.blocks[place], replies[block_id]


def storable_state(script: Script, state: State, project: Project) -> dict[str, object]:
    """The state as JSON. On anonymous projects it has no gifts, which would mark a member's answers.

    The JSON includes the present scores, because a later script could not compute them (rule 5.12). Scores
    and results include all answers that count, also answers to later blocks after a step back. LAPSES marks a
    conversation in which only a further question is open.
    """
    stored = replace(state, fired={}) if state.fired and project.is_anonymous else state
    ahead = counting.looked_ahead(script, stored) if script.calculates else stored
    written = stored.as_json() if ahead is stored else replace(stored, results=ahead.results).as_json()
    written["revision"] = project.revision
    if state.further is not None and runner.asks_no_more(script, state):
        written[Conversation.LAPSES] = True
    if script.scoring_enabled:
        written["scores"] = scoring.by_bucket(script, runner.score_variables(script, ahead))
    return written
