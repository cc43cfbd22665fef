"""Imported responses as rows."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime

from surveys.engine import packing
from surveys.engine.script import Block, Script
from surveys.engine.walk import answers
from surveys.engine.walk.runner import State
from surveys.models import Conversation, Project
from surveys.services.conversations import saving
from surveys.services.conversations.repository import NewResponse, TallyChange
from surveys.services.ground import anonymity, field_groups
from surveys.services.imports.people import Person
from surveys.services.imports.sent import SentResponse


def conversation_of(
    *,
    project: Project,
    sent: SentResponse,
    place: int,
    person: Person | None,
    session_number: int | None,
    at: datetime,
) -> Conversation:
    """The conversation of a response, without its state; `place` is the index of the response in the import.

    A partial response has no `respondent`, so that nobody continues it. `updated_at` is the current time,
    because readers of recent changes have not seen the response.
    """
    return Conversation(
        id=id_of(project, sent, place),
        project=project,
        provider=Conversation.Provider.IMPORT,
        user_id=person.user_id if person else None,
        platform_id=person.platform_id if person else None,
        respondent=person.respondent if person and sent.is_completed else None,
        session_number=session_number,
        seed=secrets.randbits(63),
        is_listed=True,
        is_settled=not project.is_anonymous,
        is_suspected=sent.is_suspected,
        started_at=anonymity.rounded(project=project, at=sent.started_at),
        updated_at=anonymity.rounded(project=project, at=at),
        completed_at=sent.submitted_at and anonymity.rounded(project=project, at=sent.submitted_at),
    )


def consent_of(project: Project, sent: SentResponse) -> Mapping[str, str] | None:
    """The text that the respondent agreed to, as a state stores it.

    On anonymous projects only the project's own text: another could name somebody.
    """
    consent = sent.consent
    if consent is None or (project.is_anonymous and consent["text"] != project.consent):
        return None
    moment = anonymity.rounded(project=project, at=consent["at"])
    return {"text": consent["text"], "at": field_groups.as_text(moment)}


def new_response(
    conversation: Conversation,
    script: Script,
    complete_blocks: Mapping[int, Block],
    state: State,
    skipped_removed: Sequence[int] = (),
) -> NewResponse:
    """The conversation with its state, and the rows of its answers; the answers may belong to removed blocks
    too.

    Removed questions that were skipped are on the path of the response, as in responses from before their
    removal. So the state belongs to an earlier revision, and is read like such a state.
    """
    conversation.state = saving.storable_state(script, state, conversation.project)
    removed = [
        each
        for each in dict.fromkeys(skipped_removed)
        if each in complete_blocks and each not in script.index_by_id and each not in state.replies
    ]
    if removed:
        conversation.state |= {
            "path": [*state.path, *removed],
            "revision": conversation.project.revision - 1,
        }
    conversation.packed = packing.pack(state.counted)
    replies = sorted(state.counted.items())
    rows = [
        (block_id, row)
        for block_id, reply in replies
        for row in answers.rows(complete_blocks[block_id], reply)
    ]
    return NewResponse(conversation, rows)


def tally(responses: Sequence[NewResponse]) -> TallyChange:
    """The change that these responses make to the counts of their project."""
    return TallyChange(
        answered=sum(len({block_id for block_id, _ in each.answers}) for each in responses),
        completed=sum(each.conversation.completed_at is not None for each in responses),
        listed=len(responses),
    )


def id_of(project: Project, sent: SentResponse, place: int = 0) -> uuid.UUID:
    """The id of a response: random on anonymous projects, else a time-ordered id (UUID v7) of the time when
    the response began, as if it had been given here.

    So listings, oldest first, show the response at the right position. The index in the import follows the
    time in the id, so responses of one second stay in the order in which they were sent.

    A response with a key has the same id in every import of its file. Without a time, the id sorts before all
    others of its project.
    """
    low = int(sent.key, 16) if sent.key else secrets.randbits(128)
    if project.is_anonymous:
        return uuid.UUID(int=low & (1 << 128) - 1, version=4)
    began = sent.started_at if sent.is_dated else project.created_at
    middle = low >> 64 & 0xFFF if sent.key else place
    return uuid.UUID(
        int=int(began.timestamp() * 1000) << 80 | 7 << 76 | middle << 64 | 2 << 62 | low & (1 << 62) - 1
    )
