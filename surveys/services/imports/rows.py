"""The rows of imported responses, written by a few statements however many they are."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db import connection, models

from communities.statements import prepared
from surveys.engine import packing
from surveys.engine.script import Script
from surveys.engine.walk import answers
from surveys.engine.walk.answers import AnswerRow
from surveys.engine.walk.runner import State
from surveys.models import Answer, Conversation, Project
from surveys.services import anonymity, feed_order
from surveys.services.conversations import loading
from surveys.services.conversations.repository import TallyChange
from surveys.services.imports.people import Person
from surveys.services.imports.sent import SentResponse
from surveys.services.representations.response import StoredAnswers


@dataclass(frozen=True, slots=True)
class NewResponse:
    """A response as it will be stored: its conversation, and the rows of its answers by block."""

    conversation: Conversation
    answers: Sequence[tuple[int, AnswerRow]]

    @property
    def stored(self) -> StoredAnswers:
        return StoredAnswers(
            [block_id for block_id, _ in self.answers],
            [row.option_id for _, row in self.answers],
            [row.value for _, row in self.answers],
        )


def conversation_of(
    *,
    project: Project,
    sent: SentResponse,
    place: int,
    person: Person | None,
    session_number: int | None,
    at: datetime,
) -> Conversation:
    """The conversation of a response, without its state; `place` is that among the responses of the import.

    A partial one has no `respondent`, so that nobody goes on with it. `updated_at` is the present: those who
    read what has changed since some time have not seen it.
    """
    return Conversation(
        id=uuid.uuid4() if project.is_anonymous else _id(sent.started_at, place),
        project=project,
        provider=Conversation.Provider.IMPORT,
        user_id=person.user_id if person else None,
        platform_id=person.platform_id if person else None,
        respondent=person.respondent if person and sent.is_completed else None,
        session_number=session_number,
        seed=secrets.randbits(63),
        is_listed=True,
        is_settled=not project.is_anonymous,
        started_at=anonymity.rounded(project=project, at=sent.started_at),
        updated_at=anonymity.rounded(project=project, at=at),
        completed_at=sent.submitted_at and anonymity.rounded(project=project, at=sent.submitted_at),
    )


def new_response(conversation: Conversation, script: Script, state: State) -> NewResponse:
    """The conversation with its state, and the rows of its answers."""
    conversation.state = loading.storable_state(script, state, conversation.project)
    conversation.packed = packing.pack(state.replies)
    replies = sorted(state.replies.items())
    blocks = script.blocks
    rows = [
        (block_id, row)
        for block_id, reply in replies
        for row in answers.rows(blocks[script.index_by_id[block_id]], reply)
    ]
    return NewResponse(conversation, rows)


def tally(responses: Sequence[NewResponse]) -> TallyChange:
    """What these responses add to the counts of their project."""
    return TallyChange(
        answered=sum(len({block_id for block_id, _ in each.answers}) for each in responses),
        completed=sum(each.conversation.completed_at is not None for each in responses),
        listed=len(responses),
    )


def insert(*, project: Project, responses: Sequence[NewResponse]) -> None:
    """Write responses of one project, and check their foreign keys at once.

    Otherwise those would be checked as the transaction ends, while the counts are locked. On anonymous
    projects the order of the rows is that of their random ids.
    """
    ordered = sorted(responses, key=lambda each: each.conversation.pk) if project.is_anonymous else responses
    fields = [field for field in Conversation._meta.concrete_fields if field.column != "changed_in"]
    position = feed_order.position(is_anonymous=project.is_anonymous)
    conversations = [[_stored(each.conversation, field) for field in fields] for each in ordered]
    _insert(fields, conversations, ("changed_in", position))
    _insert(Answer._meta.concrete_fields, [row for each in ordered for row in _answer_rows(each)])
    connection.check_constraints()


def _insert(
    fields: Sequence[models.Field[Any, Any]], rows: Sequence[Sequence[Any]], *more: tuple[str, str]
) -> None:
    """Insert rows by one statement, whose arrays are the columns. `more` are columns with their SQL."""
    if not rows:
        return
    table, names = fields[0].model._meta.db_table, [str(field.column) for field in fields]
    arrays = ", ".join(f"%s::{_type_of(field)}[]" for field in fields)
    columns = ", ".join([*names, *(name for name, _ in more)])
    values = ", ".join([*(f"new.{name}" for name in names), *(sql for _, sql in more)])
    with prepared() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({columns}) SELECT {values}"
            f" FROM unnest({arrays}) AS new({', '.join(names)})",
            [list(column) for column in zip(*rows, strict=True)],
        )


def _type_of(field: models.Field[Any, Any]) -> str:
    """The type of a column without its length, which the column checks itself."""
    return str(field.db_type(connection)).partition("(")[0]


def _stored(conversation: Conversation, field: models.Field[Any, Any]) -> Any:
    value = getattr(conversation, field.attname)
    return orjson.dumps(value).decode() if isinstance(field, models.JSONField) else value


def _answer_rows(response: NewResponse) -> Iterator[Sequence[Any]]:
    for block_id, row in response.answers:
        yield response.conversation.pk, block_id, row.ordinal, row.option_id, row.value, row.number


def _id(started_at: datetime, place: int) -> uuid.UUID:
    """A time-ordered id (UUID v7) of when the response began, as if it had been given here.

    So listings show it where it belongs, oldest first. Behind the time stands its place in the import:
    responses of one second stay in the order in which they were sent.
    """
    milliseconds = int(started_at.timestamp() * 1000)
    return uuid.UUID(int=milliseconds << 80 | 7 << 76 | place << 64 | 2 << 62 | secrets.randbits(62))
