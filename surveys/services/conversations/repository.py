"""Reads and writes conversations with few, hand-written SQL statements.

The ORM builds a query in about 0.3 ms, more than PostgreSQL needs to run it. It cannot lock two tables in
different modes or write three in one statement.

A read that precedes a write locks the project's row against deletion (`KEY SHARE`) before the conversation's.
So a transaction that deletes or changes a project (`FOR UPDATE`) waits for moves under way, and later moves
find the project gone or changed.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db import connection, models

from communities.ground import rounding
from communities.ground.statements import columns_of, instance_of, prepared, width_of
from surveys.engine.walk.answers import AnswerRow
from surveys.models import Answer, Conversation, Project, Tally
from surveys.services import public_messages
from surveys.services.conversations import completions
from surveys.services.ground import anonymity, feed_order
from surveys.services.representations.response import StoredAnswers

_CHANGED_IN = {known: feed_order.moved(is_anonymous=known, is_listed="%s") for known in (False, True)}
_ANSWER_COLUMNS = ("conversation_id", "block_id", "ordinal", "option_id", "value", "number")


@dataclass(frozen=True, slots=True)
class TallyChange:
    """The changes of a project's counts by one move."""

    answered: int = 0
    completed: int = 0
    listed: int = 0

    def __bool__(self) -> bool:
        return bool(self.answered or self.completed or self.listed)


@dataclass(frozen=True, slots=True)
class MoveChanges:
    """The rows that a move writes.

    `given` are the rows of the reply to `block_id`. `replaces` says that the block may have earlier rows.
    `restores` are rows of other blocks, which have no rows yet. The rows of the blocks in `drops` are
    deleted. `is_new` inserts the conversation. `rescores` says that its scores or its results of calculated
    blocks have changed.
    """

    conversation: Conversation
    counts: TallyChange
    block_id: int | None = None
    given: Sequence[AnswerRow] = ()
    replaces: bool = False
    restores: Sequence[tuple[int, AnswerRow]] = ()
    drops: Collection[int] = ()
    is_new: bool = False
    rescores: bool = False

    @property
    def inserts(self) -> Sequence[tuple[int, AnswerRow]]:
        """The rows to insert, by block."""
        return [*((self.block_id or 0, row) for row in self.given), *self.restores]

    @property
    def is_counted(self) -> bool:
        """Whether any count of the project changes."""
        return bool(self.counts or self.given or self.restores or self.drops or self.rescores)


@dataclass(frozen=True, slots=True)
class NewResponse:
    """A whole response for `insert_many`: the conversation, and the rows of its answers by block."""

    conversation: Conversation
    answers: Sequence[tuple[int, AnswerRow]]

    @property
    def stored(self) -> StoredAnswers:
        return StoredAnswers(
            [block_id for block_id, _ in self.answers],
            [row.option_id for _, row in self.answers],
            [row.value for _, row in self.answers],
        )


@dataclass(frozen=True, slots=True)
class RespondentHistory:
    """A project, and the conversations and completions of one respondent there.

    On anonymous projects `completions` counts rows of single completions, up to `completions.NEAR`.
    """

    project: Project
    conversation: Conversation | None
    completions: int


def lock_project(*, project_id: int) -> Project | None:
    """A project, locked against deletion and changes until the transaction ends. Moves do not wait for it."""
    sql = f"""
        SELECT {columns_of(Project, "p")} FROM surveys_project p
        WHERE p.id = %s AND p.deleted_at IS NULL FOR KEY SHARE
    """
    with prepared() as cursor:
        cursor.execute(sql, [project_id])
        row = cursor.fetchone()
    return instance_of(Project, row) if row else None


def find_for_respondent(*, project_id: int, respondents: Sequence[str]) -> RespondentHistory | None:
    """The project, locked against deletion, and the respondent's open conversation there, else their last.

    In a poll whose votes may be changed, a vote takes precedence over a conversation that was only begun.
    `respondents` are the respondent's own keyed hash and those of users merged into theirs; empty for a
    nameless respondent.
    """
    return _for_respondent(project_id, respondents, "FOR KEY SHARE OF p")


def look_for_respondent(*, project_id: int, respondents: Sequence[str]) -> RespondentHistory | None:
    """The same without a lock, for reading."""
    return _for_respondent(project_id, respondents, "")


def _for_respondent(project_id: int, respondents: Sequence[str], locking: str) -> RespondentHistory | None:
    sql = f"""
        SELECT done.completions, {columns_of(Project, "p")}, {columns_of(Conversation, "c")}
        FROM surveys_project p
        LEFT JOIN LATERAL (
            SELECT coalesce(sum(completions), 0)::int AS completions
            FROM surveys_completion WHERE project_id = p.id AND respondent = ANY(%s)
        ) done ON TRUE
        LEFT JOIN LATERAL (
            SELECT * FROM surveys_conversation WHERE project_id = p.id AND respondent = %s
            ORDER BY (completed_at IS NOT NULL) <> (p.type = 'poll' AND p.change_poll), id DESC LIMIT 1
        ) c ON TRUE
        WHERE p.id = %s AND p.deleted_at IS NULL {locking}
    """
    hashes = [*respondents]
    for each in respondents:
        hashes += completions.hashes_near(project_id=project_id, respondent=each)
    own = respondents[0] if respondents else None
    with prepared() as cursor:
        cursor.execute(sql, [hashes, own, project_id])
        row = cursor.fetchone()
    if row is None:
        return None
    project, conversation = _project_and_conversation(row[1:])
    return RespondentHistory(project, conversation, row[0])


def find(*, conversation_id: uuid.UUID) -> Conversation | None:
    """A conversation with its project, for reading. One statement."""
    return _one(conversation_id, "")


def lock(*, conversation_id: uuid.UUID) -> Conversation | None:
    """A conversation with its project, under a row lock: concurrent moves run one after the other.

    Reads twice if needed, because `anonymity.settle` may have rewritten the row while we waited for its lock.
    """
    locking = "FOR KEY SHARE OF p FOR UPDATE OF c"
    return _one(conversation_id, locking) or _one(conversation_id, locking)


def insert(*, conversation: Conversation) -> bool:
    """Insert a new conversation. False if a concurrent request has begun one for this respondent."""
    names, values = _as_row(conversation)
    sql = f"""
        INSERT INTO surveys_conversation ({", ".join(names)}) VALUES ({", ".join(["%s"] * len(names))})
        ON CONFLICT (project_id, respondent) WHERE completed_at IS NULL AND respondent IS NOT NULL DO NOTHING
    """
    with prepared() as cursor:
        cursor.execute(sql, values)
        return bool(cursor.rowcount)


def insert_many(*, responses: Sequence[NewResponse], is_anonymous: bool) -> None:
    """Insert listed responses of one project by a statement for each table, and check their foreign keys.

    Otherwise PostgreSQL would check the keys at the end of the transaction, while the counts are locked.
    """
    if not responses:
        return
    names, _ = _as_row(responses[0].conversation)
    position = feed_order.position(is_anonymous=is_anonymous)
    rows = [_as_row(each.conversation)[1] for each in responses]
    _insert_rows(Conversation, names, rows, ("changed_in", position))
    answers = [
        (each.conversation.pk, block_id, row.ordinal, row.option_id, row.value, row.number)
        for each in responses
        for block_id, row in each.answers
    ]
    _insert_rows(Answer, _ANSWER_COLUMNS, answers)
    connection.check_constraints()


def _insert_rows(
    model: type[models.Model], names: Sequence[str], rows: Sequence[Sequence[Any]], *more: tuple[str, str]
) -> None:
    """Insert rows by one statement, with an array for each column. `more` are columns with their SQL."""
    if not rows:
        return
    fields = {field.column: field for field in model._meta.concrete_fields}
    arrays = ", ".join(_array_of(fields[name]) for name in names)
    columns = ", ".join([*names, *(name for name, _ in more)])
    values = ", ".join([*(f"new.{name}" for name in names), *(sql for _, sql in more)])
    with prepared() as cursor:
        cursor.execute(
            f"INSERT INTO {model._meta.db_table} ({columns}) SELECT {values}"
            f" FROM unnest({arrays}) AS new({', '.join(names)})",
            [list(column) for column in zip(*rows, strict=True)],
        )


def _array_of(field: models.Field[Any, Any]) -> str:
    """The placeholder of an array of values, cast to their type. The column checks the length of texts.

    JSON is sent in binary form. In an array of texts each quote would be escaped, which takes most of the
    time.
    """
    type_name = str(field.db_type(connection)).partition("(")[0]
    return f"{'%b::text[]' if isinstance(field, models.JSONField) else '%s'}::{type_name}[]"


def save(move: MoveChanges) -> None:
    """Write a move in one statement: the conversation, the new answer, dropped answers, the counts."""
    parts, values = _parts(move)
    if move.is_counted:
        last, more = _tally(move.conversation.project_id, move.counts)
    else:
        last, more = "SELECT 1", []
    with prepared() as cursor:
        cursor.execute(f"WITH {', '.join(parts)} {last}", [*values, *more])


def save_last(move: MoveChanges) -> StoredAnswers:
    """Write the move that ends a conversation, or a change after the end, and return all its answers.

    One statement does both. It reads the rows from before the move, so it adds the rows that it inserts and
    skips the rows that it deletes.
    """
    parts, values = _parts(move)
    if move.is_counted:
        sql, more = _tally(move.conversation.project_id, move.counts)
        parts.append(f"counted AS ({sql})")
        values += more
    given = "UNION ALL SELECT block_id, ordinal, option_id, value FROM given" if move.inserts else ""
    with prepared() as cursor:
        cursor.execute(
            f"""
            WITH {", ".join(parts)}
            SELECT array_agg(block_id ORDER BY block_id, ordinal),
                array_agg(option_id ORDER BY block_id, ordinal),
                array_agg(value ORDER BY block_id, ordinal)
            FROM (
                SELECT block_id, ordinal, option_id, value FROM surveys_answer
                WHERE conversation_id = %s AND NOT block_id = ANY(%s)
                {given}
            ) stored
            """,
            [*values, move.conversation.pk, [*move.drops, move.block_id or 0]],
        )
        blocks, options, texts = cursor.fetchone()
    return StoredAnswers(blocks or (), options or (), texts or ())


def delete(*, conversation: Conversation, at: datetime) -> None:
    """Delete a locked conversation with its answers, and subtract it from the limit. The feed reports it.

    The caller applies further effects after this call, and changes the counts (`count`) last. A completion
    locks rows in the same order, so the two cannot deadlock.
    """
    project, is_counted = conversation.project, conversation.completed_at is not None
    position = feed_order.position(is_anonymous=project.is_anonymous)
    with prepared() as cursor:
        cursor.execute(
            "WITH deletion AS (INSERT INTO surveys_deletedresponse"
            " (response_id, community_id, project_id, changed_in, due_at)"
            f" SELECT id, %s, project_id, {position}, %s FROM surveys_conversation"
            " WHERE id = %s AND changed_in IS NOT NULL), "
            "dropped AS (DELETE FROM surveys_answer WHERE conversation_id = %s), "
            "gone AS (DELETE FROM surveys_conversation WHERE id = %s) "
            "UPDATE surveys_completion SET completions = completions - 1"
            " WHERE project_id = %s AND respondent = %s AND completions > 0 AND %s",
            [
                project.community_id,
                rounding.after(at, anonymity.rounding_of(project)),
                conversation.pk,
                conversation.pk,
                conversation.pk,
                conversation.project_id,
                conversation.respondent,
                is_counted,
            ],
        )


def count(*, project_id: int, counts: TallyChange) -> None:
    """Change a project's counts without a move."""
    if counts:
        with prepared() as cursor:
            cursor.execute(*_tally(project_id, counts))
        public_messages.note_recount(project_id=project_id)


def note_change(*, project_id: int) -> None:
    """Discard every cached count of a project."""
    with prepared() as cursor:
        cursor.execute(*_tally(project_id, TallyChange()))
    public_messages.note_recount(project_id=project_id)


def _parts(move: MoveChanges) -> tuple[list[str], list[Any]]:
    """The parts of a move's statement, without its counts, and their values."""
    parts: list[str] = []
    values: list[Any] = []
    conversation_id = move.conversation.pk
    _add_conversation(move.conversation, move.is_new, parts, values)
    if move.replaces or move.drops:
        parts.append(
            "dropped AS (DELETE FROM surveys_answer WHERE conversation_id = %s"
            " AND (block_id = ANY(%s) OR (block_id = %s AND ordinal >= %s)))"
        )
        values += [conversation_id, list(move.drops), move.block_id, len(move.given)]
    if inserts := move.inserts:
        # A replaced row is updated: one statement cannot delete and insert the same row.
        parts.append(
            f"given AS (INSERT INTO surveys_answer ({', '.join(_ANSWER_COLUMNS)})"
            f" VALUES {', '.join(['(%s, %s, %s, %s, %s, %s)'] * len(inserts))}"
            + (
                " ON CONFLICT (conversation_id, block_id, ordinal) DO UPDATE"
                " SET option_id = excluded.option_id, value = excluded.value, number = excluded.number"
                if move.replaces
                else ""
            )
            + " RETURNING block_id, ordinal, option_id, value)"
        )
        for block_id, row in inserts:
            values += [conversation_id, block_id, row.ordinal, row.option_id, row.value, row.number]
    return parts, values


def _add_conversation(conversation: Conversation, is_new: bool, parts: list[str], values: list[Any]) -> None:
    is_anonymous = conversation.project.is_anonymous
    if is_new:
        names, row = _as_row(conversation)
        position = feed_order.position(is_anonymous=is_anonymous) if conversation.is_listed else "NULL"
        parts.append(
            f"moved AS (INSERT INTO surveys_conversation ({', '.join(names)}, changed_in)"
            f" VALUES ({', '.join(['%s'] * len(names))}, {position}))"
        )
        values += row
        return
    parts.append(
        "moved AS (UPDATE surveys_conversation SET state = %s, packed = %s,"
        f" is_listed = %s, changed_in = {_CHANGED_IN[is_anonymous]}, is_settled = %s,"
        " updated_at = %s, completed_at = %s, session_number = %s, sealed_respondent = %s, outcome = %s"
        f"{', is_suspected = TRUE' if conversation.is_suspected else ''} WHERE id = %s)"
    )
    values += [
        orjson.dumps(conversation.state).decode(),
        conversation.packed,
        conversation.is_listed,
        conversation.is_listed,
        conversation.is_settled,
        conversation.updated_at,
        conversation.completed_at,
        conversation.session_number,
        conversation.sealed_respondent,
        conversation.outcome,
        conversation.pk,
    ]


def _tally(project_id: int, counts: TallyChange) -> tuple[str, list[Any]]:
    slot = random.randrange(Tally.SLOTS)
    return (
        "INSERT INTO surveys_tally AS tally (project_id, slot, answered, completed, listed, changes)"
        " VALUES (%s, %s, %s, %s, %s, 1) ON CONFLICT (project_id, slot) DO UPDATE SET"
        " answered = tally.answered + excluded.answered, completed = tally.completed + excluded.completed,"
        " listed = tally.listed + excluded.listed, changes = tally.changes + 1",
        [project_id, slot, counts.answered, counts.completed, counts.listed],
    )


def _one(conversation_id: uuid.UUID, locking: str) -> Conversation | None:
    sql = f"""
        SELECT coalesce(NOT person.is_active, FALSE),
            {columns_of(Project, "p")}, {columns_of(Conversation, "c")}
        FROM surveys_conversation c JOIN surveys_project p ON p.id = c.project_id
        LEFT JOIN communities_user person ON person.id = c.user_id
        WHERE c.id = %s AND p.deleted_at IS NULL {locking}
    """
    with prepared() as cursor:
        cursor.execute(sql, [conversation_id])
        row = cursor.fetchone()
    conversation = _project_and_conversation(row[1:])[1] if row else None
    if conversation is not None:
        conversation.is_of_deactivated = row[0]
    return conversation


def _project_and_conversation(row: Sequence[object]) -> tuple[Project, Conversation | None]:
    width = width_of(Project)
    project = instance_of(Project, row[:width])
    if row[width] is None:
        return project, None
    conversation = instance_of(Conversation, row[width:])
    conversation.project = project
    return project, conversation


def _as_row(conversation: Conversation) -> tuple[list[str], list[Any]]:
    """The columns of a new row and their values, except its position in the feed."""
    fields = [field for field in Conversation._meta.concrete_fields if field.column != "changed_in"]
    values = [getattr(conversation, field.attname) for field in fields]
    read = [
        orjson.dumps(value).decode() if isinstance(field, models.JSONField) else value
        for field, value in zip(fields, values, strict=True)
    ]
    return [str(field.column) for field in fields], read
