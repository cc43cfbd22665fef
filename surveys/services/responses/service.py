"""Responses: listing, reading, deleting, and streaming in batches (rules 6.32, 6.33, 6.47 and 6.48)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NoReturn, cast

from django.db import connection
from django.db.models import Q, Sum

from communities.ground import statements
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound, refuse
from communities.ground.replica import from_replica
from communities.ground.statements import MAX_PAGE_BYTES
from communities.ground.transactions import in_transaction
from communities.models import Identity, Member
from surveys.models import Conversation, Project, Tally
from surveys.services.conversations import removal, repository
from surveys.services.ground import access, history, selecting
from surveys.services.representations.response import ResponseJson, response_serializer
from surveys.services.responses import quotes
from surveys.services.scripts import cache as script_cache

NO_RESPONSE = "There is no such response."
HISTORY_BATCH = 500  # One statement reads at most this many responses of one person.
# The limits of one statement that streams all responses: rows, and bytes of answers with some overhead for
# each answer.
FIRST_BATCH = 100
MAX_BATCH = 1_000
MAX_BATCH_BYTES = 4_000_000
BYTES_PER_THEME = 320  # A title has at most 80 characters, so a theme takes at most this many bytes.
# An answer takes these bytes in addition to its value, its label and the block's name.
BYTES_PER_ANSWER = 100
MOST_WORDS = 1_000  # If several projects are read together, a label and a name have at most this many bytes.
# Pages by number end here, because the rows before a page are read, too. The parameter `after` has no such
# limit.
MAX_PAGED_ROWS = 10_000
# At most this many rows are counted, in order to find out whether a filter matches few responses or nearly
# all.
_LIMIT = 10_001
# Hand-written SQL reads a page with its answers as arrays in one statement. For 100 responses of 10 answers
# this takes 2.0 ms of CPU on both sides, with JSON. Two statements take 4.7 ms, and JSON made by PostgreSQL
# 2.7 ms.
_HAS_READINGS = "EXISTS (SELECT FROM surveys_codebook k WHERE k.project_id = c.project_id)"
COLUMNS = f"""
    c.id, c.session_number, CASE WHEN c.is_listed THEN c.completed_at END, c.user_id::text, c.platform_id,
    c.provider, c.started_at, c.updated_at, c.state -> 'scores', c.state -> 'results', c.state -> 'fields',
    a.blocks, a.options, a.texts, CASE WHEN {_HAS_READINGS} THEN (
        SELECT json_object_agg(r.block_id, json_build_array(r.sentiment, r.themes))
        FROM surveys_reading r WHERE r.conversation_id = c.id
    ) END AS readings, c.state -> 'follow_ups', c.state -> 'other', c.state -> 'consent',
    c.is_suspected, c.outcome, c.state ->> 'language'
"""
_COURSE = """
    (c.state ->> 'revision')::bigint, (c.state ->> 'at')::int,
    ARRAY(SELECT jsonb_array_elements_text(c.state -> 'path')::bigint)
"""
# Responses that were screened out have no answer rows. Their `state` has what the rows would be (rule 6.413).
KEPT_ROWS = """
    jsonb_to_recordset(c.state -> 'kept') AS kept(block_id bigint, ordinal int, option_id bigint, value text)
"""
_ANSWERS = """
    LEFT JOIN LATERAL (
        SELECT array_agg(block_id ORDER BY block_id, ordinal) AS blocks,
            array_agg(option_id ORDER BY block_id, ordinal) AS options,
            array_agg(value ORDER BY block_id, ordinal) AS texts,
            count(*) AS number,
            -- A control character takes six bytes of JSON. To look for some in short values costs too much.
            coalesce(sum(CASE WHEN octet_length(value) > 50 THEN octet_length(to_json(value)::text)
                ELSE octet_length(value) END), 0) AS size
        FROM {}
    ) a ON TRUE
"""
ANSWERS = _ANSWERS.format("surveys_answer WHERE conversation_id = c.id")
_KEPT_ANSWERS = _ANSWERS.format(KEPT_ROWS)
_ALL_ANSWERS = _ANSWERS.format(f"""(
    SELECT block_id, ordinal, option_id, value FROM surveys_answer WHERE conversation_id = c.id
    UNION ALL SELECT * FROM {KEPT_ROWS}
) each""")
# Responses show times without microseconds. So a response that shows 09:30:00 is not before 09:30:00.
_FILTERS = {
    "submitted_after": "completed_at >= %s",
    "submitted_before": "completed_at < %s",
    "updated_after": "updated_at >= %s",
    "provider": "provider = %s",
    "user_id": "user_id = %s",
    "user_ids": "user_id = ANY(%s)",
    "platform_id": "platform_id = %s",
    "session_number": "session_number = %s",
    "suspected": "is_suspected = %s",
}
# Filters whose opposite can be counted, too. Their columns are never null.
_OPPOSITES = {
    "updated_after": "updated_at < %s",
    "provider": "(provider < %s OR provider > %s)",  # Unlike <>, the condition is two ranges of the index.
    "suspected": "is_suspected <> %s",
}
_STATUS = {"completed": "completed_at IS NOT NULL", "partial": "completed_at IS NULL"}
_OUTCOMES = {
    "completed": "completed_at IS NOT NULL",
    "full": f"outcome LIKE '{Conversation.FULL}%%'",
    "screened_out": f"outcome LIKE '{Conversation.SCREENED_OUT}%%'",
}


@dataclass(frozen=True, slots=True)
class ResponsePage:
    """A page of responses. `page` is None if the page was requested by `after`."""

    data: Sequence[ResponseJson]
    page: int | None
    per_page: int
    total: int
    has_more: bool


@from_replica
def list_page(
    *,
    project: Project,
    filters: Mapping[str, object],
    descending: bool,
    page: int,
    per_page: int,
    after: uuid.UUID | None = None,
    solutions: bool = True,
) -> ResponsePage:
    """A page of a project's responses, oldest first, or newest first if `descending`.

    `filters` may contain `status` (`completed`, `partial`; any other value means all), `outcome`,
    `member_id`, the keys of `_FILTERS`, `fields` of metadata with their values, and `where`, as in a
    `Selection`. With `after`, the page starts after that response and costs the same at
    any depth; the page ends early at MAX_PAGE_BYTES. The total comes from the project's tally; it is counted
    only with filters other than `status`. Raises InvalidRequest for an expression with faults, for a page
    beyond MAX_PAGED_ROWS if there are responses, and for a page by number of more than MAX_PAGE_BYTES.
    Raises Unavailable if the expression is much work, and other large jobs are running.
    """
    expression = cast(str | None, filters.get("where"))
    script = partial(script_cache.script_of, project)
    selecting.refuse_faults(expression, script=script, solutions=solutions)
    with selecting_slot(project, expression):
        return _page(
            project, _by_user(project, filters), descending, page, per_page, after, solutions=solutions
        )


def selecting_slot(project: Project, where: str | None) -> AbstractContextManager[None]:
    """Let an expression without faults select among a project's responses. Raises Unavailable if it is much
    work, and other large jobs are running, or if it takes too long.
    """
    return selecting.slot(
        where,
        responses=partial(_kept_total, project, {}),
        script=partial(script_cache.script_of, project),
        community_id=project.community_id,
    )


def _page(
    project: Project,
    filters: Mapping[str, object],
    descending: bool,
    page: int,
    per_page: int,
    after: uuid.UUID | None,
    *,
    solutions: bool,
) -> ResponsePage:
    where, values = _where(project, filters)
    total, matches_most = _total(project, filters, where, values)
    direction, comparison = ("DESC", "<") if descending else ("ASC", ">")
    offset = (page - 1) * per_page
    keyset = ""
    if after is not None:
        keyset, offset = f" AND id {comparison} %s", 0
    elif offset >= total:
        return ResponsePage([], page, per_page, total, has_more=False)
    ids = f"SELECT id FROM surveys_conversation WHERE {where}{keyset}"
    if filters.get("updated_after") is not None and not matches_most:
        # Matching rows may be anywhere in the order of ids. OFFSET 0 makes PostgreSQL first find all of them
        # by the index, instead of searching for matches in the order of ids.
        ids = f"SELECT id FROM ({ids} OFFSET 0) matching"
    ids = f"{ids} ORDER BY id {direction} LIMIT %s OFFSET %s"
    if offset + per_page > MAX_PAGED_ROWS and after is None:
        _refuse_depth(per_page, ids, values)
    rows_of_page = f"SELECT * FROM surveys_conversation WHERE id IN ({ids})"
    catalogue = script_cache.of(project).catalogue
    answers = _KEPT_ANSWERS if _is_of_screened_out(filters) else ANSWERS
    words = catalogue.longest_words
    sql = _up_to_a_size(rows_of_page, direction=direction, words=words, answers=answers)
    more = [after] if after is not None else []
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, *more, per_page + 1, offset, MAX_PAGE_BYTES])
        rows = cursor.fetchall()
        has_more = len(rows) > per_page
        if not has_more and rows and rows[-1][-1] >= MAX_PAGE_BYTES:
            rest = f"SELECT EXISTS (SELECT FROM surveys_conversation WHERE {where} AND id {comparison} %s)"
            cursor.execute(rest, [*values, rows[-1][0]])
            [has_more] = cursor.fetchone()
            if has_more and after is None and len(rows) < per_page:
                _refuse_size(len(rows))
    serialize = response_serializer(project, solutions=solutions, catalogue=catalogue)
    return ResponsePage(
        data=[serialize(row[:-2]) for row in rows[:per_page]],
        page=page if after is None else None,
        per_page=per_page,
        total=total,
        has_more=has_more,
    )


def get(*, response_id: uuid.UUID, actor: Actor, at: datetime) -> ResponseJson:
    """One response that the actor may read. Raises NotFound for a conversation without any answer."""
    conversation = repository.find(conversation_id=response_id)
    if conversation is None or not conversation.is_response:
        raise NotFound(NO_RESPONSE)
    access.require_responses_reader(actor=actor, project=conversation.project, at=at, missing=NO_RESPONSE)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {COLUMNS} FROM surveys_conversation c {_ALL_ANSWERS} WHERE c.id = %s", [response_id]
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound(NO_RESPONSE)
    solutions = access.may_read_solutions(actor=actor, project=conversation.project)
    return response_serializer(conversation.project, solutions=solutions)(row)


@in_transaction
def delete(*, response_id: uuid.UUID, actor: Actor, at: datetime) -> None:
    """Delete a response, and remove it from counts, limits and quotes. On a poll this retracts the vote."""
    conversation = lock(response_id=response_id, actor=actor)
    quotes.remove(project_id=conversation.project_id, conversation_id=conversation.pk)
    removal.remove(conversation=conversation, at=at)
    history.record_response(
        Action.RESPONSE_DELETED, conversation.project, conversation.pk, actor=actor, at=at
    )


def lock(*, response_id: uuid.UUID, actor: Actor) -> Conversation:
    """Lock a response that the actor may delete. Raises NotFound."""
    conversation = repository.lock(conversation_id=response_id)
    if conversation is None or not conversation.is_response:
        raise NotFound(NO_RESPONSE)
    access.require_owner(actor=actor, project=conversation.project, missing=NO_RESPONSE)
    return conversation


def given_by(*, project: Project, user_id: int) -> Iterator[ResponseJson]:
    """All conversations of this person in a project, oldest first; conversations without an answer are
    included.

    Rows are read in batches while the caller iterates, so a long history never takes more memory than one
    batch.
    """
    serialize, last = response_serializer(project), uuid.UUID(int=0)
    sql = _up_to_a_size(
        f"SELECT * FROM surveys_conversation WHERE project_id = %s AND user_id = %s AND id > %s "
        f"ORDER BY id LIMIT {HISTORY_BATCH}",
        answers=_ALL_ANSWERS,
    )
    while rows := statements.fetch_rows(sql, [project.pk, user_id, last, MAX_BATCH_BYTES]):
        yield from (serialize(row[:-2]) for row in rows)
        last = rows[-1][0]


def batches(
    *, project: Project, filters: Mapping[str, object], with_course: bool = False
) -> Iterator[Sequence[Sequence[Any]]]:
    """All responses in the order of the listing, as batches of rows for `response_serializer`.

    `with_course` adds three columns at the end of each row: the script's revision at the last move, the index
    of the current block, and the ids of the blocks that were shown before it. `filters` are as in
    `list_page`. Each batch is one statement that runs when the caller asks for it. So memory contains one
    batch, and no transaction is open while the rows are sent. The number of rows in the previous batch
    decides the size of a batch. Raises Unavailable if an expression takes too long. Raises NotFound after
    the last batch if the project has been deleted since the first one, because rows may be missing.
    """
    where, values = _where(project, filters)
    sql = _up_to_a_size(
        f"SELECT * FROM surveys_conversation WHERE {where} AND id > %s ORDER BY id LIMIT %s",
        more=f", {_COURSE}" if with_course else "",
        answers=_KEPT_ANSWERS if _is_of_screened_out(filters) else ANSWERS,
    )
    expression = cast(str | None, filters.get("where"))
    last, limit = uuid.UUID(int=0), FIRST_BATCH
    while True:
        rows = _batch(sql, [*values, last, limit, MAX_BATCH_BYTES], expression)
        if rows:
            yield [row[:-2] for row in rows]
        if not rows or (len(rows) < limit and rows[-1][-1] < MAX_BATCH_BYTES):
            break
        last, limit = rows[-1][0], min(MAX_BATCH, 2 * len(rows))
    if not Project.objects.filter(pk=project.pk).exists():
        raise NotFound(access.NO_PROJECT)


@from_replica
def _batch(sql: str, values: Sequence[Any], expression: str | None) -> list[tuple[Any, ...]]:
    with selecting.stopped(expression):
        return statements.fetch_rows(sql, values)


def size_of_a_row(words: int) -> str:
    """Return SQL for the approximate size of a response in bytes of JSON. `words` is the size of a label and
    a block's name.

    The size of a state is only read if the state is large. A large state contains long results of calculated
    blocks, many fields, many further questions, or a long text of consent.
    """
    return f"""(
        coalesce(a.size + a.number * {BYTES_PER_ANSWER + words}, 0)
        + CASE WHEN pg_column_size(c.state) > 2000
            THEN coalesce(octet_length((c.state -> 'results')::text), 0)
                + coalesce(octet_length((c.state -> 'fields')::text), 0)
                + coalesce(octet_length((c.state -> 'follow_ups')::text), 0)
                + coalesce(octet_length((c.state -> 'other')::text), 0)
                + coalesce(octet_length((c.state -> 'consent')::text), 0)
            ELSE 0 END
        + CASE WHEN {_HAS_READINGS} THEN (
            SELECT coalesce(sum(50 + {BYTES_PER_THEME} * cardinality(r.themes)), 0)
            FROM surveys_reading r WHERE r.conversation_id = c.id
        ) ELSE 0 END
    )"""


def _up_to_a_size(
    conversations: str, *, direction: str = "ASC", more: str = "", words: int = 0, answers: str = ANSWERS
) -> str:
    """A statement that reads these conversations with their answers up to a number of bytes.

    The number of bytes is the last parameter of the statement. The first row is always read. `more` are
    columns after COLUMNS. Each row ends with its size and the sum of sizes up to it. For `words` see
    `size_of_a_row`.
    """
    size = size_of_a_row(words)
    return f"""
        SELECT * FROM (
            SELECT {COLUMNS}{more}, {size} AS size,
                sum({size}) OVER (ORDER BY c.id {direction})::bigint AS upto
            FROM ({conversations}) c {answers}
        ) part
        WHERE upto - size < %s
        ORDER BY id {direction}
    """


def _refuse_size(fitting: int) -> NoReturn:
    """Refuse a page by number with too large answers, because the pages after it would leave out
    responses.
    """
    refuse(
        "per_page",
        "invalid",
        f"These responses have more than {MAX_PAGE_BYTES // 1_000_000} MB together. Send a smaller "
        f"`per_page`, for example {fitting}, or go on with `after`, which returns as many as fit.",
    )


def _by_user(project: Project, filters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The filters, with the users for `member_id` and `platform_id`, because an index finds the responses of
    users.
    """
    users: list[set[int]] = []
    if (member_id := filters.get("member_id")) is not None:
        member = Member.objects.filter(community_id=project.community_id, pk=member_id)
        users.append(set(member.values_list("user_id", flat=True)))
    if (platform_id := filters.get("platform_id")) is not None:
        here = Q(community_id=project.community_id) | Q(community__isnull=True)
        accounts = Identity.objects.filter(here, platform_id=platform_id)
        users.append(set(accounts.values_list("user_id", flat=True)))
    return {**filters, "user_ids": sorted(set.intersection(*users))} if users else filters


def _where(project: Project, filters: Mapping[str, object]) -> tuple[str, list[Any]]:
    parts, values = ["project_id = %s"], [project.pk]
    if _is_of_screened_out(filters):  # all of them are partial
        parts.append("NOT is_listed" if filters.get("status") != "completed" else "FALSE")
        filters = {**filters, "status": None}
    else:
        parts.append("is_listed")
    for known, name in ((_STATUS, "status"), (_OUTCOMES, "outcome")):
        if condition := known.get(str(filters.get(name))):
            parts.append(condition)
    more: list[Any] = []
    for name, condition in _FILTERS.items():
        if filters.get(name) is not None:
            parts.append(condition)
            more.append(filters[name])
    chosen = selecting.parts(
        fields=cast(Sequence[tuple[str, str]], filters.get("fields") or ()),
        where=cast(str | None, filters.get("where")),
        script=partial(script_cache.script_of, project),
        state="state",
    )
    for condition, own in chosen:
        parts.append(condition)
        more += own
    return " AND ".join(parts), [*values, *more]


def _is_of_screened_out(filters: Mapping[str, object]) -> bool:
    """Whether the filters select those responses that were screened out, which nothing else selects."""
    return filters.get("outcome") == Conversation.SCREENED_OUT


def _refuse_depth(per_page: int, ids: str, values: list[Any]) -> NoReturn:
    """Refuse a page that is too deep, with the id after which the list continues."""
    last_page = MAX_PAGED_ROWS // per_page
    with connection.cursor() as cursor:
        cursor.execute(ids, [*values, 1, last_page * per_page - 1])
        row = cursor.fetchone()
    message = (
        f"`page` must be at most {last_page} with this `per_page`, as pages reach the first "
        f"{MAX_PAGED_ROWS:,} rows. Send the id of the last response that you have as `after` instead"
    )
    refuse("page", "too_large", f"{message}: page {last_page} ends with {row[0]}." if row else f"{message}.")


def _total(
    project: Project, filters: Mapping[str, object], where: str, values: list[Any]
) -> tuple[int, bool]:
    """The number of matching responses, and whether the filter is known to match all but a few.

    If a filter matches few responses, or nearly all, the smaller part is counted.
    """
    narrowing = [
        name for name in (*_FILTERS, "outcome", "fields", "where") if filters.get(name) not in (None, ())
    ]
    if not narrowing:
        return _kept_total(project, filters), True
    if len(narrowing) == 1 and narrowing[0] in _OPPOSITES:
        matching = _count(f"SELECT FROM surveys_conversation WHERE {where} LIMIT %s", [*values, _LIMIT])
        if matching < _LIMIT:
            return matching, False
        others_where, others_values = _where(project, {"status": filters.get("status")})
        condition = _OPPOSITES[narrowing[0]]
        others = _count(
            f"SELECT FROM surveys_conversation WHERE {others_where} AND {condition} LIMIT %s",
            [*others_values, *[filters[narrowing[0]]] * condition.count("%s"), _LIMIT],
        )
        if others < _LIMIT:
            return _kept_total(project, filters) - others, True
    return _count(f"SELECT FROM surveys_conversation WHERE {where}", values), False


def _kept_total(project: Project, filters: Mapping[str, object]) -> int:
    """The stored number of all responses, or of those with the status of the filter."""
    sums = Tally.objects.filter(project=project).aggregate(listed=Sum("listed"), completed=Sum("completed"))
    listed, completed = sums["listed"] or 0, sums["completed"] or 0
    return {"completed": completed, "partial": listed - completed}.get(str(filters.get("status")), listed)


def _count(rows: str, values: list[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({rows}) counted", values)
        return int(cursor.fetchone()[0])
