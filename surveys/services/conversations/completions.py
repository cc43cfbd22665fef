"""Completions and actions that have fired, with few, hand-written SQL statements (see `repository`).

    complete               counts a completion up to the limit, and fires the actions of the end with it
    complete_anonymously   the same on an anonymous project
    counts, complete_many  the completions of many respondents at once
    fire, unfire           one action
    sessions               how many sessions a respondent has completed

On anonymous projects each completion and each action is stored under a keyed hash of its own
(decisions 15.7). An action that fired before the project's privacy changed is known under the other key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from communities.statements import prepared
from surveys.services import anonymity

NEAR = 3  # read with the project; most projects allow one, and who has completed more is rare


@dataclass(frozen=True, slots=True)
class CountedCompletion:
    """A counted completion, and the actions that fired with it. On anonymous projects it has no number."""

    session_number: int | None
    fired: Collection[str]


def complete(
    *, project_id: int, respondent: str, at_most: int | None, actions: Collection[tuple[str, str]] = ()
) -> CountedCompletion | None:
    """Count a completion, if the limit allows, and fire the actions that have not fired in their scope.

    Returns None at the limit. It is one atomic statement: two concurrent completions wait for each other on
    the row, so they cannot both take the last place or fire an action twice.
    """
    sql = """
        WITH counted AS (
            INSERT INTO surveys_completion AS done (project_id, respondent, completions, last_session)
            VALUES (%s, %s, 1, 1)
            ON CONFLICT (project_id, respondent) DO UPDATE
            SET completions = done.completions + 1, last_session = done.last_session + 1
            WHERE %s::int IS NULL OR done.completions < %s
            RETURNING last_session
        ), fired AS (
            INSERT INTO surveys_firedaction (project_id, action, scope)
            SELECT %s, due.action, due.scope
            FROM counted, unnest(%s::text[], %s::text[], %s::text[]) AS due(action, scope, hidden)
            WHERE NOT EXISTS (
                SELECT FROM surveys_firedaction earlier
                WHERE (earlier.project_id, earlier.action, earlier.scope) = (%s, due.action, due.hidden)
            )
            ON CONFLICT DO NOTHING RETURNING action
        )
        SELECT last_session, ARRAY(SELECT action FROM fired) FROM counted
    """
    due = sorted(actions)  # in one order, so that concurrent completions do not deadlock
    names, scopes = [action for action, _ in due], [scope for _, scope in due]
    hidden = _action_hashes(project_id, due)
    limit: list[Any] = [project_id, respondent, at_most, at_most]
    with prepared() as cursor:
        cursor.execute(sql, [*limit, project_id, names, scopes, hidden, project_id])
        row = cursor.fetchone()
    return CountedCompletion(*row) if row else None


@dataclass(frozen=True, slots=True)
class Count:
    """How many of a respondent's completions count for the limit, and the number of their last session."""

    completions: int = 0
    last_session: int = 0


def counts(*, project_id: int, respondents: Collection[str]) -> dict[str, Count]:
    """The completions of these respondents, of those who have any. Not for anonymous projects."""
    with prepared() as cursor:
        cursor.execute(
            "SELECT respondent, completions, last_session FROM surveys_completion"
            " WHERE project_id = %s AND respondent = ANY(%s)",
            [project_id, list(respondents)],
        )
        return {respondent: Count(*count) for respondent, *count in cursor.fetchall()}


def complete_many(*, project_id: int, numbers: Mapping[str, int]) -> dict[str, Count]:
    """Count so many completions of each respondent, whatever the limit is. Returns the counts afterwards.

    The caller refuses what is over the limit. The rows stay locked until the transaction ends, and are locked
    in one order, so that concurrent calls do not deadlock.
    """
    respondents = sorted(numbers)
    with prepared() as cursor:
        cursor.execute(
            "INSERT INTO surveys_completion AS done (project_id, respondent, completions, last_session)"
            " SELECT %s, each.respondent, each.number, each.number"
            " FROM unnest(%s::text[], %s::int[]) AS each(respondent, number)"
            " ON CONFLICT (project_id, respondent) DO UPDATE"
            " SET completions = done.completions + excluded.completions,"
            " last_session = done.last_session + excluded.last_session"
            " RETURNING respondent, completions, last_session",
            [project_id, respondents, [numbers[each] for each in respondents]],
        )
        return {respondent: Count(*count) for respondent, *count in cursor.fetchall()}


def complete_anonymously(
    *,
    project_id: int,
    respondent: str,
    at_most: int | None,
    actions: Collection[tuple[str, str]] = (),
) -> CountedCompletion | None:
    """Count a completion of an anonymous project in a row of its own, and fire actions, as `complete` does.

    Returns None at the limit. The row's key is a keyed hash of the respondent and the first number that they
    have not used (`anonymity.completion_hash`). So the limit holds among concurrent completions, and nothing
    shows which rows belong to one respondent.
    """
    names, scopes = [action for action, _ in actions], [scope for _, scope in actions]
    first, length = 1, NEAR
    while at_most is None or first <= at_most:
        last = first + length - 1 if at_most is None else min(first + length - 1, at_most)
        hashes = _completion_hashes(project_id, respondent, first, last)
        with prepared() as cursor:
            cursor.execute(
                _COMPLETE_ANONYMOUSLY,
                {
                    "project": project_id,
                    "respondent": respondent,
                    "hashes": hashes,
                    "numbers": list(range(first, last + 1)),
                    "actions": names,
                    "hidden": _action_hashes(project_id, actions),
                    "scopes": scopes,
                },
            )
            is_free, is_counted, fired = cursor.fetchone()
        if is_counted:
            return CountedCompletion(None, fired)
        if not is_free:  # otherwise a concurrent completion has just taken the number
            first, length = last + 1, length * 4
    return None


_COMPLETE_ANONYMOUSLY = """
    WITH free AS (
        SELECT each.hash FROM unnest(%(hashes)s::text[], %(numbers)s::int[]) AS each(hash, number)
        WHERE NOT EXISTS (
            SELECT FROM surveys_completion WHERE project_id = %(project)s AND respondent = each.hash
        ) AND number > coalesce((
            SELECT completions FROM surveys_completion
            WHERE project_id = %(project)s AND respondent = %(respondent)s
        ), 0)
        ORDER BY number LIMIT 1
    ), counted AS (
        INSERT INTO surveys_completion (project_id, respondent, completions, last_session)
        SELECT %(project)s, hash, 1, 1 FROM free
        ON CONFLICT DO NOTHING RETURNING 1
    ), fired AS (
        INSERT INTO surveys_firedaction (project_id, action, scope)
        SELECT %(project)s, due.action, due.hidden
        FROM counted, unnest(%(actions)s::text[], %(hidden)s::text[], %(scopes)s::text[])
            AS due(action, hidden, scope)
        WHERE NOT EXISTS (
            SELECT FROM surveys_firedaction earlier
            WHERE (earlier.project_id, earlier.action, earlier.scope) = (%(project)s, due.action, due.scope)
        )
        ON CONFLICT DO NOTHING RETURNING action
    )
    SELECT EXISTS (SELECT FROM free), EXISTS (SELECT FROM counted), ARRAY(SELECT action FROM fired)
"""


def _completion_hashes(project_id: int, respondent: str, first: int, last: int) -> list[str]:
    return [
        anonymity.completion_hash(project_id=project_id, respondent=respondent, number=number)
        for number in range(first, last + 1)
    ]


def _action_hashes(project_id: int, actions: Iterable[tuple[str, str]]) -> list[str]:
    return [
        anonymity.action_hash(project_id=project_id, action=action, scope=scope) for action, scope in actions
    ]


def fire(*, project_id: int, action: str, scope: str, is_anonymous: bool = False) -> bool:
    """Record that an action fires; False if it has already. Waits for a concurrent firing to commit.

    On anonymous projects (`is_anonymous`) the key is unrelated to those of the respondent's other actions.
    """
    [hidden] = _action_hashes(project_id, [(action, scope)])
    stored, other = (hidden, scope) if is_anonymous else (scope, hidden)
    with prepared() as cursor:
        cursor.execute(
            "INSERT INTO surveys_firedaction (project_id, action, scope)"
            " SELECT %(project)s, %(action)s::text, %(stored)s::text WHERE NOT EXISTS ("
            "   SELECT FROM surveys_firedaction"
            "   WHERE project_id = %(project)s AND action = %(action)s::text AND scope = %(other)s"
            " ) ON CONFLICT DO NOTHING",
            {"project": project_id, "action": action, "stored": stored, "other": other},
        )
        return bool(cursor.rowcount)


def sessions(*, project_id: int, respondent: str) -> int:
    """How many sessions of a project a respondent has completed, including deleted ones."""
    found: int = 0
    first, length = 1, NEAR
    hashes = [respondent]
    while True:
        hashes += _completion_hashes(project_id, respondent, first, first + length - 1)
        with prepared() as cursor:
            cursor.execute(
                "SELECT coalesce(sum(last_session), 0)::int FROM surveys_completion"
                " WHERE project_id = %s AND respondent = ANY(%s)",
                [project_id, hashes],
            )
            found += cursor.fetchone()[0]
        if found < first + length - 1:
            return found
        first, length, hashes = first + length, length * 4, []


def unfire(*, project_id: int, action: str, scope: str) -> None:
    """Forget that an action fired, so that it may fire again."""
    with prepared() as cursor:
        cursor.execute(
            "DELETE FROM surveys_firedaction WHERE project_id = %s AND action = %s AND scope = %s",
            [project_id, action, scope],
        )


def hashes_near(*, project_id: int, respondent: str) -> list[str]:
    """The hashes of a respondent's first completions of an anonymous project, `NEAR` of them."""
    return _completion_hashes(project_id, respondent, 1, NEAR)
