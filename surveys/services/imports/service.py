"""Past responses, imported as if they had been given here (rules 6.67 and 6.68).

Each response is walked by the engine with its answers, so nothing is stored that a respondent could not have
answered. All derived values (scores, results, counts, session numbers) are computed again. One violation
refuses all responses; all violations are reported together, each with its line.

The import ignores whom the project admits, and whether it is open, because the responses are from another
time.

    walking.walk(…)       reads the project and walks; outside of transactions
    import_responses(…)   checks what depends on other responses, and stores all
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NoReturn

from communities.ground.actors import Actor
from communities.ground.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    ViolationJson,
    and_more,
    refuse,
    violation,
)
from communities.ground.transactions import in_transaction
from communities.services.people import members
from communities.services.people.members import LockedMember
from surveys.engine.script import Block, Script
from surveys.engine.walk.replay import Replay
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services import events
from surveys.services.conversations import completions, effects, places, repository
from surveys.services.conversations.effects import Earner, Recipient
from surveys.services.conversations.repository import NewResponse
from surveys.services.ground import access, history, metadata
from surveys.services.imports import limits, people, rows
from surveys.services.imports.people import Person
from surveys.services.imports.sent import ImportOptions, SentResponse
from surveys.services.imports.walking import WalkedImport


def import_responses(*, actor: Actor, walked: WalkedImport, options: ImportOptions, at: datetime) -> int:
    """Store past responses.

    Returns the number of stored responses; for a dry run, the number that would be stored. A dry run locks
    nothing. Refuses all responses if any has a violation. Refuses XP on anonymous projects and by creators.
    Refuses (Conflict, to be retried) a project that has changed since the walks. The script cannot change
    while the responses are stored. Respondents can answer at the same time.
    """
    if options.gives_xp and not actor.is_admin:
        _refuse_giver()
    if options.is_dry_run:
        _checked_people(walked, walked.project, options, at)
    else:
        _store(actor, walked, options, at)
    return len(walked.sent)


def _checked_people(
    walked: WalkedImport, project: Project, options: ImportOptions, at: datetime
) -> Mapping[int, Person]:
    """The people of the responses, by line. Refuses all violations together."""
    if options.gives_xp and project.is_anonymous:
        refuse("give_xp", "not_allowed", "Nobody is known who could get XP for anonymous responses.")
    found = people.find(project=project, sent=walked.sent)
    too_many = limits.violations(project=project, sent=walked.sent, people=found)
    too_old = limits.too_old(project=project, sent=walked.sent, at=at)
    _refuse([*walked.violations, *too_many, *too_old])
    return found


@in_transaction
def _store(actor: Actor, walked: WalkedImport, options: ImportOptions, at: datetime) -> None:
    project = _locked(walked)
    access.require_owner(actor=actor, project=project)
    _store_locked(actor, project, walked, options, at)


@in_transaction
def store_part(*, walked: WalkedImport, at: datetime) -> int:
    """Store a part of an import that was authorised and recorded before. Returns the number of responses."""
    return _store_locked(None, _locked(walked), walked, ImportOptions(), at)


def _locked(walked: WalkedImport) -> Project:
    """The project under its lock. Raises NotFound, or Conflict if it has changed since the walks."""
    project = repository.lock_project(project_id=walked.project.pk)
    if project is None:
        raise NotFound(access.NO_PROJECT)
    if not walked.fits(project):
        message = "The project has changed while the responses were checked. Please retry."
        raise Conflict(message, retry_after=1)
    return project


def _store_locked(
    actor: Actor | None, project: Project, walked: WalkedImport, options: ImportOptions, at: datetime
) -> int:
    found = _checked_people(walked, project, options, at)
    known = people.lock_and_create(project=project, people=found)
    return _Import(
        project, walked.script, walked.complete_blocks, walked.sent, walked.walks, known, options, at
    ).store(actor)


def _refuse_giver() -> NoReturn:
    """Creators could give XP by hand, through any number of responses of a person (rule 8.18)."""
    message = (
        "Only admins may import with `give_xp`, as only they give XP by hand. Without it the responses are "
        "imported and give nothing."
    )
    raise Forbidden(message, violations=[violation("give_xp", "not_allowed", message)])


def _refuse(violations: Sequence[ViolationJson]) -> None:
    """Raise InvalidRequest if there is a violation, with all of them in the order of lines."""
    if not violations:
        return
    ordered = sorted(violations, key=lambda each: int(each["line"]))
    first = ordered[0]
    message = f"Line {first['line']}: {first['message']}{and_more(ordered)}"
    raise InvalidRequest(message, violations=ordered)


@dataclass(frozen=True, slots=True)
class _Import:
    """Responses without a violation, and the writes that store them.

    Locks are taken in the same order as by a completion: members, the places of the project, the counts of
    their completions, and last the project's counts, because every vote needs them.
    """

    project: Project
    script: Script
    complete_blocks: Mapping[int, Block]
    sent: Sequence[SentResponse]
    walks: Sequence[Replay]
    people: Mapping[int, Person]
    options: ImportOptions
    at: datetime

    def store(self, actor: Actor | None) -> int:
        """Write the responses and everything that follows from them, and an entry about the actor if there is
        one. Returns the number of responses.
        """
        held = self._locked_members() if self.options.gives_xp else {}
        places.lock(self.project)
        numbers = limits.count_completions(project=self.project, sent=self.sent, people=self.people)
        walks = zip(self.sent, self.walks, strict=True)
        responses = [self._new(place, each, walk, numbers, held) for place, (each, walk) in enumerate(walks)]
        if self.project.is_anonymous:  # the rows are in the order of their random ids
            responses.sort(key=lambda each: each.conversation.pk)
        repository.insert_many(responses=responses, is_anonymous=self.project.is_anonymous)
        completed = [each for each in responses if each.conversation.completed_at is not None]
        places.add(self.project, [each.conversation.pk for each in completed])
        if self.options.emits_events:
            submitted = [(each.conversation, each.stored) for each in completed]
            events.responses_submitted(self.project, submitted, at=self.at)
        if actor is not None:
            history.record_import(self.project, actor=actor, count=len(responses), at=self.at)
        repository.count(project_id=self.project.pk, counts=rows.tally(responses))
        return len(responses)

    def _locked_members(self) -> Mapping[int, LockedMember]:
        """The members who get XP, by user."""
        people = [
            self.people[each.line] for each in self.sent if each.is_completed and each.line in self.people
        ]
        user_ids = {
            person.user_id for person in people if person.member_id is not None and person.user_id is not None
        }
        return members.lock_members(community_id=self.project.community_id, user_ids=user_ids)

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
        if consent := rows.consent_of(self.project, sent):
            state = replace(state, consent=consent)
        if language := metadata.language_of(self.project, sent.language):
            state = replace(state, language=language)
        return rows.new_response(conversation, self.script, self.complete_blocks, state, sent.skipped_removed)

    def _session_number(self, sent: SentResponse, numbers: Mapping[int, int]) -> int | None:
        """The session number of the conversation: a completed response without a person is a first
        session.
        """
        if self.project.is_anonymous or not sent.is_completed:
            return None
        return numbers.get(sent.line, 1)

    def _recipient(
        self, conversation: Conversation, person: Person | None, held: Mapping[int, LockedMember]
    ) -> Recipient | None:
        """The member who gets the effects of the response; None if there are no effects or no member."""
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
    """Give the effects of the walk and its end that were not given before; returns the new state."""
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
