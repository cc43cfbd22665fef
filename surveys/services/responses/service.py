"""Responses: what was answered, as the interface lists it (decisions 8.4 and 8.9)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Sum

from communities import statements
from communities.actors import Actor
from communities.errors import NotFound
from communities.transactions import in_transaction
from surveys.models import Project, Tally
from surveys.services import access
from surveys.services.conversations import repository
from surveys.services.conversations import service as conversations
from surveys.services.representations.response import ResponseJson, response_serializer
from surveys.services.responses import quotes

NO_RESPONSE = "There is no such response."
AT_ONCE = 500  # of a person's whole history
# Of all responses: so many in one statement, and so many bytes of answers, each counting for some more.
FIRST_PART = 100
MOST_IN_A_PART = 1_000
MOST_BYTES_IN_A_PART = 4_000_000
_BYTES_AROUND_AN_ANSWER = 100
# One statement for a page, answers and all, as arrays: 2.0 ms for 100 responses of 10 answers, CPU of both
# sides, JSON included. Two statements take 4.7 ms, JSON made by PostgreSQL 2.7 ms.
_COLUMNS = """
    c.id, c.session_number, c.completed_at, c.user_id::text, c.platform_id, c.provider, c.started_at,
    a.blocks, a.options, a.texts
"""
_ANSWERS = f"""
    LEFT JOIN LATERAL (
        SELECT array_agg(block_id ORDER BY block_id, ordinal) AS blocks,
            array_agg(option_id ORDER BY block_id, ordinal) AS options,
            array_agg(value ORDER BY block_id, ordinal) AS texts,
            coalesce(sum(octet_length(value) + {_BYTES_AROUND_AN_ANSWER}), 0) AS size
        FROM surveys_answer WHERE conversation_id = c.id
    ) a ON TRUE
"""
# Times are told without their microseconds, so a response told as of 09:30:00 is not before 09:30:00.
_FILTERS = {
    "submitted_after": "completed_at >= %s",
    "submitted_before": "completed_at < %s",
    "updated_after": "updated_at >= %s",
    "provider": "provider = %s",
    "user_id": "user_id = %s",
    "session_number": "session_number = %s",
}
_STATUS = {"completed": "completed_at IS NOT NULL", "partial": "completed_at IS NULL"}


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of responses. `page` is None where it was asked for by `after`."""

    data: Sequence[ResponseJson]
    page: int | None
    per_page: int
    total: int
    has_more: bool


def listing(
    *,
    project: Project,
    filters: Mapping[str, object],
    descending: bool,
    page: int,
    per_page: int,
    after: uuid.UUID | None = None,
) -> Listing:
    """A page of a project's responses, oldest first, or newest first where `descending`.

    `filters` may hold `status` (`completed`, `partial`; anything else is all) and the keys of `_FILTERS`.
    With `after`, the page begins behind that response and costs the same at any depth. Three
    statements: the page, and the total, which is kept and not counted unless other filters ask for it.
    """
    where, values = _where(project, filters)
    total = _total(project, filters, where, values)
    direction, comparison = ("DESC", "<") if descending else ("ASC", ">")
    offset = (page - 1) * per_page
    keyset = ""
    if after is not None:
        keyset, offset = f" AND id {comparison} %s", 0
    elif offset >= total:
        return Listing([], page, per_page, total, has_more=False)
    sql = f"""
        SELECT {_COLUMNS}
        FROM (
            SELECT * FROM surveys_conversation WHERE id IN (
                SELECT id FROM surveys_conversation WHERE {where}{keyset}
                ORDER BY id {direction} LIMIT %s OFFSET %s
            )
        ) c {_ANSWERS}
        ORDER BY c.id {direction}
    """
    more = [after] if after is not None else []
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, *more, per_page + 1, offset])
        found = cursor.fetchall()
    tell = response_serializer(project)
    return Listing(
        data=[tell(row) for row in found[:per_page]],
        page=page if after is None else None,
        per_page=per_page,
        total=total,
        has_more=len(found) > per_page,
    )


def get(*, response_id: uuid.UUID, actor: Actor, at: datetime) -> ResponseJson:
    """One response. Refuses what has no answer yet, as it is none."""
    conversation = repository.find(conversation_id=response_id)
    if conversation is None or not conversation.is_listed:
        raise NotFound(NO_RESPONSE)
    access.require_responses_reader(actor=actor, project=conversation.project, at=at, missing=NO_RESPONSE)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {_COLUMNS} FROM surveys_conversation c {_ANSWERS} WHERE c.id = %s", [response_id]
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound(NO_RESPONSE)
    return response_serializer(conversation.project)(row)


@in_transaction
def delete(*, response_id: uuid.UUID, actor: Actor, at: datetime) -> None:
    """Delete a response, out of counts, limits and analysis. On a poll this retracts the vote."""
    conversation = repository.lock(conversation_id=response_id)
    if conversation is None or not conversation.is_listed:
        raise NotFound(NO_RESPONSE)
    access.require_editor(actor=actor, project=conversation.project, missing=NO_RESPONSE)
    quotes.drop_those_of(project_id=conversation.project_id, conversation_id=conversation.pk)
    conversations.remove(conversation=conversation, at=at)


def given_by(*, project: Project, user_id: int) -> Iterator[ResponseJson]:
    """Every conversation that a project knows to be this person's, also one without an answer yet.

    Read as it is asked for, so that the longest history takes the memory of a page.
    """
    tell, last = response_serializer(project), uuid.UUID(int=0)
    sql = f"""
        SELECT {_COLUMNS} FROM surveys_conversation c {_ANSWERS}
        WHERE c.project_id = %s AND c.user_id = %s AND c.id > %s
        ORDER BY c.id LIMIT {AT_ONCE}
    """
    while True:
        with connection.cursor() as cursor:
            cursor.execute(sql, [project.pk, user_id, last])
            found = cursor.fetchall()
        yield from map(tell, found)
        if len(found) < AT_ONCE:
            return
        last = found[-1][0]


def in_parts(*, project: Project, filters: Mapping[str, object]) -> Iterator[Sequence[Sequence[Any]]]:
    """All responses in the order of the listing, a part at a time, as rows that `response_serializer` takes.

    `filters` as in `listing`. One statement reads a part, as it is asked for, so that all of them take the
    memory of one; the next asks for as many as have turned out to fit. Between two nothing is held, however
    long the rows take to go out.
    """
    where, values = _where(project, filters)
    sql = f"""
        SELECT * FROM (
            SELECT {_COLUMNS}, a.size, sum(a.size) OVER (ORDER BY c.id)::bigint AS upto
            FROM (
                SELECT * FROM surveys_conversation WHERE {where} AND id > %s ORDER BY id LIMIT %s
            ) c {_ANSWERS}
        ) part
        WHERE upto - size < %s
        ORDER BY id
    """
    last, most = uuid.UUID(int=0), FIRST_PART
    while found := statements.found(sql, [*values, last, most, MOST_BYTES_IN_A_PART]):
        yield [row[:-2] for row in found]
        if len(found) < most and found[-1][-1] < MOST_BYTES_IN_A_PART:
            return
        last, most = found[-1][0], min(MOST_IN_A_PART, 2 * len(found))


def _where(project: Project, filters: Mapping[str, object]) -> tuple[str, list[Any]]:
    parts, values = ["project_id = %s", "is_listed"], [project.pk]
    if condition := _STATUS.get(str(filters.get("status"))):
        parts.append(condition)
    more: list[Any] = []
    for name, condition in _FILTERS.items():
        if filters.get(name) is not None:
            parts.append(condition)
            more.append(filters[name])
    return " AND ".join(parts), [*values, *more]


def _total(project: Project, filters: Mapping[str, object], where: str, values: list[Any]) -> int:
    if any(filters.get(name) is not None for name in _FILTERS):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM surveys_conversation WHERE {where}", values)
            return int(cursor.fetchone()[0])
    kept = Tally.objects.filter(project=project).aggregate(listed=Sum("listed"), completed=Sum("completed"))
    listed, completed = kept["listed"] or 0, kept["completed"] or 0
    return {"completed": completed, "partial": listed - completed}.get(str(filters.get("status")), listed)
