"""Past responses, taken over as if they had been given here (decisions 15.20).

Each response is walked by the engine with its answers, so nothing is stored that a respondent could not have
answered. Everything derived (scores, results, counts, numbers of sessions) is computed anew. Any fault
refuses all responses, and all faults are told at once, each with its line.

Who the project admits, and whether it is open, does not matter: the responses are from another time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from communities.actors import Actor
from communities.errors import Conflict, InvalidRequest, NotFound, ViolationJson, refuse
from communities.services.members import LockedMember
from communities.transactions import in_transaction
from communities.words import plural
from surveys.engine.script import Script, Violation
from surveys.engine.walk.replay import Replay, replay
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services import access, events, history, metadata
from surveys.services.conversations import completions, effects, repository
from surveys.services.conversations.effects import Earner, Recipient
from surveys.services.imports import limits, people, rows
from surveys.services.imports.people import Person
from surveys.services.imports.rows import NewResponse
from surveys.services.imports.sent import MOST_FAULTS, SentResponse
from surveys.services.scripts import editing as scripts

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an import does besides storing responses. A dry run stores none."""

    is_dry_run: bool = False
    gives_xp: bool = False
    emits_events: bool = False


@in_transaction
def import_responses(
    *,
    actor: Actor,
    project_id: int,
    sent: Sequence[SentResponse],
    faults: Sequence[ViolationJson] = (),
    wanted: Wanted,
    at: datetime,
) -> int:
    """Store responses of another time. Returns how many; for a dry run, how many would be stored.

    `faults` are those that the caller has found. Refuses all responses if any has a fault, a project without
    questions, and XP on anonymous projects. The script cannot change meanwhile; answers need not wait.
    """
    project, script = _opened(actor, project_id)
    if wanted.gives_xp and project.is_anonymous:
        refuse("give_xp", "not_allowed", "Nobody is known who could get XP for anonymous responses.")
    found = people.find(project=project, sent=sent)
    walks, own_faults = _walked(project, script, sent, at)
    own_faults += limits.faults(project=project, sent=sent, people=found)
    _refuse([*faults, *own_faults])
    if not wanted.is_dry_run:
        _Import(project, script, sent, walks, people.keep(project=project, people=found), wanted, at).store(
            actor
        )
    return len(sent)


def _opened(actor: Actor, project_id: int) -> tuple[Project, Script]:
    """The project, locked as moves lock it, and its script."""
    history = repository.find_for_respondent(project_id=project_id, respondents=[])
    if history is None:
        raise NotFound(access.NO_PROJECT)
    access.require_editor(actor=actor, project=history.project)
    script = scripts.load(project_id=project_id, revision=history.project.revision)
    if not any(block.asks for block in script.blocks):
        raise Conflict("This project has no questions yet, so there are no answers to it.")
    return history.project, script


def _walked(
    project: Project, script: Script, sent: Sequence[SentResponse], at: datetime
) -> tuple[list[Replay], list[ViolationJson]]:
    walks, faults = [], list[ViolationJson]()
    for each in sent:
        walk, violations = replay(
            script,
            each.answers,
            is_completed=each.is_completed,
            fields=metadata.allowed(project, each.metadata),
        )
        walks.append(walk)
        violations = [*_faults_of_times(each, at), *violations]
        faults += [each.fault(violation) for violation in violations[:MOST_FAULTS]]
    return walks, faults


def _faults_of_times(sent: SentResponse, at: datetime) -> list[Violation]:
    times = {"started_at": sent.started_at, "submitted_at": sent.submitted_at}
    faults = [
        Violation(name, "too_large", f"`{name}` must not be in the future.")
        for name, time in times.items()
        if time is not None and time > at
    ]
    if sent.started_at < _EARLIEST:
        message = "`started_at` must not be before 1970, where the times in ids begin."
        faults.append(Violation("started_at", "too_small", message))
    if sent.submitted_at is not None and sent.submitted_at < sent.started_at:
        message = "`submitted_at` must not be before `started_at`."
        faults.append(Violation("submitted_at", "conflicting", message))
    return faults


def _refuse(faults: Sequence[ViolationJson]) -> None:
    """Raise InvalidRequest if there is a fault, with all of them in the order of lines."""
    if not faults:
        return
    ordered = sorted(faults, key=lambda fault: int(fault["line"]))
    first, rest = ordered[0], len(ordered) - 1
    more = f" There {'is' if rest == 1 else 'are'} {plural(rest, 'more violation')}." if rest else ""
    raise InvalidRequest(f"Line {first['line']}: {first['message']}{more}", violations=ordered)


@dataclass(frozen=True, slots=True)
class _Import:
    """Responses without a fault, and what happens as they are stored.

    Locks are taken in the order of a completion: members, the counts of their completions, and last those of
    the project, for which votes wait.
    """

    project: Project
    script: Script
    sent: Sequence[SentResponse]
    walks: Sequence[Replay]
    people: Mapping[int, Person]
    wanted: Wanted
    at: datetime

    def store(self, actor: Actor) -> None:
        """Write the responses with everything that follows from them."""
        held = self._locked_members() if self.wanted.gives_xp else {}
        numbers = limits.count(project=self.project, sent=self.sent, people=self.people)
        walks = zip(self.sent, self.walks, strict=True)
        responses = [self._new(place, each, walk, numbers, held) for place, (each, walk) in enumerate(walks)]
        rows.insert(project=self.project, responses=responses)
        if self.wanted.emits_events:
            for each in responses:
                if each.conversation.completed_at is not None:
                    events.response_submitted(each.conversation, each.stored, at=self.at)
        history.record_import(self.project, actor=actor, count=len(responses), at=self.at)
        repository.count(project_id=self.project.pk, counts=rows.tally(responses))

    def _locked_members(self) -> Mapping[int, LockedMember]:
        """The members who get XP, by user; locked in one order, so that two imports do not deadlock."""
        user_ids = {
            person.user_id
            for line, person in self.people.items()
            if person.member_id is not None and person.user_id is not None
        }
        held = {user_id: effects.lock_member(self.project, user_id) for user_id in sorted(user_ids)}
        return {user_id: member for user_id, member in held.items() if member is not None}

    def _new(
        self,
        place: int,
        sent: SentResponse,
        walk: Replay,
        numbers: Mapping[int, int],
        held: Mapping[int, LockedMember],
    ) -> NewResponse:
        person = self.people.get(sent.line)
        conversation = rows.conversation_of(
            project=self.project,
            sent=sent,
            place=place,
            person=person,
            session_number=self._session_number(sent, numbers),
            at=self.at,
        )
        recipient = self._recipient(conversation, person, held) if sent.is_completed else None
        if recipient is None:
            state = walk.state if self.project.is_anonymous else replace(walk.state, earns=False)
        else:
            state = _give(recipient, self.script, walk)
        return rows.new_response(conversation, self.script, state)

    def _session_number(self, sent: SentResponse, numbers: Mapping[int, int]) -> int | None:
        """As a conversation has it: a nameless one that is completed is the first of somebody."""
        if self.project.is_anonymous or not sent.is_completed:
            return None
        return numbers.get(sent.line, 1)

    def _recipient(
        self, conversation: Conversation, person: Person | None, held: Mapping[int, LockedMember]
    ) -> Recipient | None:
        """The member who gets what the response gives; None if it gives nothing, or to nobody."""
        if person is None or person.member_id is None or person.user_id is None:
            return None
        if person.user_id not in held:
            return None
        return effects.recipient_of(
            conversation=conversation,
            earner=Earner(person.user_id, person.respondent),
            held=held[person.user_id],
            at=self.at,
        )


def _give(recipient: Recipient, script: Script, walk: Replay) -> State:
    """Give what the walk and its end give, as far as it was not given before; the state afterwards."""
    fired: Mapping[int, int] = {}
    for block, there in walk.reached:
        fired = effects.reach(recipient, script, replace(there, fired=fired), [block]).fired
    state = replace(walk.state, fired=fired)
    due = [
        gift
        for gift in effects.due_at_end(recipient, script, state)
        if completions.fire(project_id=recipient.project.pk, action=gift.action, scope=gift.scope)
    ]
    return effects.complete(recipient, script, state, due)
