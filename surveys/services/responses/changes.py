"""The feed of changes: every response once for each state that a reader has not read, and deletions
(rule 6.51).

Readers keep a copy of the responses. They request the changes after their cursor as often as they like;
changes that happen meanwhile appear at the next reading. `feed_order` explains why no change is skipped.

A response that changes again before it is read appears once, in its latest state. One statement reads a whole
page, so the states match the positions of the page.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q

from communities.ground.actors import Actor
from communities.ground.errors import Forbidden, NotFound
from communities.ground.statements import fetch_rows
from communities.ground.undo_period import UNDO_PERIOD
from surveys.models import DeletedResponse, Project
from surveys.services.ground import access, feed_order
from surveys.services.ground.feed_order import NEXT, NOW, OPEN
from surveys.services.representations.response import response_serializer
from surveys.services.responses import cursors
from surveys.services.responses.cursors import Cursor
from surveys.services.responses.service import (
    ANSWERS,
    COLUMNS,
    MAX_BATCH_BYTES,
    MOST_WORDS,
    size_of_a_row,
)

# The next few changes of each project by its index, and the first of all these. A page costs the same at any
# depth.
_NEXT_FEW = f"""
    WITH changed AS (
        SELECT own.* FROM unnest(%(projects)s::bigint[]) AS read(project_id), LATERAL (
            SELECT project_id, changed_in, id, is_listed FROM surveys_conversation
            WHERE project_id = read.project_id AND changed_in > 0 AND changed_in < {OPEN}
                AND (changed_in, id) > (%(position)s, %(id)s::uuid)
            ORDER BY changed_in, id LIMIT %(limit)s
        ) own
    ), deleted AS (
        SELECT project_id, changed_in, response_id AS id, FALSE FROM surveys_deletedresponse
        WHERE {{whose}} AND changed_in >= %(begun_at)s AND changed_in < {OPEN}
            AND (changed_in, response_id) > (%(position)s, %(id)s::uuid)
        ORDER BY changed_in, response_id LIMIT %(limit)s
    ), page AS (
        SELECT * FROM changed UNION ALL SELECT * FROM deleted ORDER BY changed_in, id LIMIT %(limit)s
    )
"""
_COUNT = f"{_NEXT_FEW} SELECT count(*) FROM page"
# The query returns as many responses as fit into MAX_BATCH_BYTES, at least one.
_PAGE = f"""
    {_NEXT_FEW}
    SELECT * FROM (
        SELECT page.project_id, page.changed_in AS position, page.id AS response_id, page.is_listed,
            {COLUMNS},
            {size_of_a_row(MOST_WORDS)} AS size,
            sum({size_of_a_row(MOST_WORDS)}) OVER (ORDER BY page.changed_in, page.id)::bigint AS upto
        FROM page LEFT JOIN surveys_conversation c ON c.id = page.id AND page.is_listed {ANSWERS}
    ) part
    WHERE upto - size < %(most)s
    ORDER BY position, response_id
"""
_OF_PROJECT = "project_id = %(project)s"
# Once a project is deleted, nobody can check who could read the project. The feed contains only numbers and
# random ids of the project.
_OF_COMMUNITY = """
    community_id = %(community)s AND (
        project_id = ANY(%(projects)s)
        OR NOT EXISTS (SELECT FROM surveys_project p WHERE p.id = surveys_deletedresponse.project_id)
    )
"""
_AHEAD = """
    SELECT read.project_id FROM unnest(%s::bigint[]) AS read(project_id), LATERAL (
        SELECT max(changed_in) AS position FROM surveys_conversation
        WHERE project_id = read.project_id AND changed_in > 0
    ) latest
    WHERE latest.position >= {number}
"""
_DELETIONS_AHEAD = f"SELECT FROM surveys_deletedresponse WHERE {{whose}} AND changed_in >= {OPEN} LIMIT 1"
# In a database that was restored from a dump, transaction numbers begin again, so older rows have positions
# above all new numbers. The feed reports these rows as changed now.
_TAKE_OVER = f"""
    UPDATE surveys_conversation SET changed_in = {NOW} WHERE changed_in >= {NEXT} AND id = ANY(ARRAY(
        SELECT id FROM surveys_conversation WHERE project_id = ANY(%s) AND changed_in >= {NEXT} LIMIT %s
    ))
"""
# One transaction takes over at most this many, so that a reader who gives up has still made progress.
TAKEN_OVER_AT_ONCE = 10_000
# Most transactions end within milliseconds. So readers find the changes that they have just written
# themselves.
WAIT, MOST_WAITS = 0.02, 25  # WAIT is in seconds.


@dataclass(frozen=True, slots=True)
class ChangesPage:
    """Changes in order, and the cursor after them. `has_more`: more changes can be read at once."""

    data: Sequence[Mapping[str, object]]
    cursor: str
    has_more: bool


def of_project(
    *, project: Project, actor: Actor, cursor: str | None, per_page: int, at: datetime
) -> ChangesPage:
    """Return the changes in a project since a cursor; all changes without a cursor.

    Raises InvalidRequest for a cursor that is not of this feed, and `cursor_expired` for an old one.
    """
    whose = {"projects": [project.pk], "project": project.pk}
    return _read(f"project:{project.pk}", actor, whose, _OF_PROJECT, cursor, per_page, at)


def of_community(*, actor: Actor, cursor: str | None, per_page: int, at: datetime) -> ChangesPage:
    """Return the changes in all projects whose responses the actor may read. Raises as `of_project` does.

    The feed still contains a project that can be restored; otherwise the changes from before its deletion
    would be missing after a restore.
    """
    whose = {"projects": _readable(actor, at), "community": actor.community_id}
    return _read(f"community:{actor.community_id}", actor, whose, _OF_COMMUNITY, cursor, per_page, at)


def forget_deletions(*, at: datetime) -> int:
    """Forget deletions that are older than every cursor. Returns the number of deletions."""
    count, _ = DeletedResponse.objects.filter(due_at__lt=at - cursors.LIFETIME).delete()
    return count


def _read(
    feed: str,
    actor: Actor,
    whose: Mapping[str, Any],
    deletions: str,
    text: str | None,
    per_page: int,
    at: datetime,
) -> ChangesPage:
    order = feed_order.now()
    cursor = (
        Cursor(feed, order.database, order.open)
        if text is None
        else cursors.read(text, feed=feed, order=order, at=at)
    )
    _take_over(whose["projects"])
    values = {
        **whose,
        "position": cursor.position,
        "id": cursor.response_id,
        "begun_at": cursor.begun_at,
        "limit": per_page + 1,
        "most": MAX_BATCH_BYTES,
    }
    for _ in range(MOST_WAITS):
        [(count,)] = fetch_rows(_COUNT.format(whose=deletions), values)
        if count > per_page or not _are_waiting(whose, deletions):
            break
        time.sleep(WAIT)
    rows = [row[:-2] for row in fetch_rows(_PAGE.format(whose=deletions), values)]
    page = rows[:per_page]
    if page:
        cursor = replace(cursor, position=page[-1][1], response_id=page[-1][2])
    has_more = len(rows) > per_page or len(rows) < count
    return ChangesPage(_serialized(page, actor), cursor.written(at=at), has_more=has_more)


def _are_waiting(whose: Mapping[str, Any], deletions: str) -> bool:
    """Whether a change has been written that the feed cannot return yet because an older transaction is
    open.
    """
    ahead = fetch_rows(_AHEAD.format(number=OPEN), [list(whose["projects"])])
    return bool(ahead or fetch_rows(_DELETIONS_AHEAD.format(whose=deletions), whose))


def _serialized(rows: Sequence[Sequence[Any]], actor: Actor) -> list[Mapping[str, object]]:
    projects = Project.with_deleted.in_bulk({row[0] for row in rows if row[3]})
    solutions = access.may_read_solutions(actor=actor)
    serialize = {key: response_serializer(each, solutions=solutions) for key, each in projects.items()}
    return [
        serialize[project_id](stored)
        if is_listed
        else {"id": str(response_id), "project_id": str(project_id), "deleted": True}
        for project_id, _, response_id, is_listed, *stored in rows
        # If a response is missing here, the feed reports its deletion later.
        if not is_listed or project_id in serialize
    ]


def _take_over(project_ids: Sequence[int]) -> None:
    """Give changes from another database new positions in this one.

    Cursors from the other database are invalid here.
    """
    foreign = [key for (key,) in fetch_rows(_AHEAD.format(number=NEXT), [list(project_ids)])]
    while foreign:
        with connection.cursor() as cursor:
            cursor.execute(_TAKE_OVER, [foreign, TAKEN_OVER_AT_ONCE])
            if cursor.rowcount < TAKEN_OVER_AT_ONCE:
                return


def _readable(actor: Actor, at: datetime) -> list[int]:
    """The ids of the projects whose responses the actor may read. A project that is deleted for good is none,
    also while a worker still removes its responses.
    """
    projects = Project.with_deleted.in_community(actor.community_id)
    projects = projects.filter(Q(deleted_at=None) | Q(deleted_at__gt=at - UNDO_PERIOD))
    if actor.is_admin:
        return list(projects.values_list("pk", flat=True))
    voted_in = access.polls_voted_in(actor=actor)
    return [
        project.pk
        for project in projects.defer("delivery", "presentation", "rewards")
        if _may_read(actor, project, at, voted_in)
    ]


def _may_read(actor: Actor, project: Project, at: datetime, voted_in: Set[int]) -> bool:
    try:
        access.require_responses_reader(actor=actor, project=project, at=at, voted_in=voted_in)
    except (Forbidden, NotFound):
        return False
    return True
