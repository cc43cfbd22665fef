"""Completions and actions that have fired, with few, hand-written SQL statements (see `repository`).

    complete               counts a completion up to the limit, and fires the actions of the end with it
    complete_anonymously   the same on an anonymous project
    counts, complete_many  the completions of many respondents at once
    fire, unfire           one action; fire_anonymously on an anonymous project
    sessions               the number of sessions that a respondent has completed

On anonymous projects each completion and each action is stored under a keyed hash of its own
(rule 7.10). An action that fired before the project's privacy changed is stored under the other key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from communities.ground.statements import prepared
from surveys.services.ground import anonymity

NEAR = 3  # completions read with the project; most projects allow one, and few people complete more
_POWERS = 16  # of four: more completions than anybody can make
_PROBES = 12  # numbers that one statement looks up


@dataclass(frozen=True, slots=True)
class CountedCompletion:
    """A counted completion, and the actions that fired with it. On anonymous projects it has no number."""

    session_number: int | None
    fired: Collection[str]


def complete(
    *, project_id: int, respondent: str, at_most: int | None, actions: Collection[tuple[str, str]] = ()
) -> CountedCompletion | None:
    """Count a completion, if the limit allows, and fire the actions that have not fired in their scope.

    Returns None at the limit. One atomic statement does both. Two concurrent completions wait for each other
    on the row, so they cannot both take the last place or fire an action twice.
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
    """The completions of each of these respondents who has any. Not for anonymous projects."""
    with prepared() as cursor:
        cursor.execute(
            "SELECT respondent, completions, last_session FROM surveys_completion"
            " WHERE project_id = %s AND respondent = ANY(%s)",
            [project_id, list(respondents)],
        )
        return {respondent: Count(*count) for respondent, *count in cursor.fetchall()}


def complete_many(*, project_id: int, numbers: Mapping[str, int]) -> dict[str, Count]:
    """Add the given number of completions to each respondent, ignoring the limit. Returns the new counts.

    The caller checks the limit. The rows stay locked until the transaction ends. They are locked in a fixed
    order, so concurrent calls do not deadlock.
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
    respondents: Sequence[str],
    at_most: int | None,
    actions: Collection[tuple[str, str]] = (),
) -> CountedCompletion | None:
    """Count a completion of an anonymous project in a row of its own, and fire actions, as `complete` does.

    `respondents` are the respondent's own keyed hash, under which the completion is stored, and the hashes of
    users who were merged into theirs; the completions of all of them count. Returns None at the limit. The
    row's key is a keyed hash of the respondent and the first number that they have not used
    (`anonymity.completion_hash`). So concurrent completions cannot exceed the limit, and nothing shows which
    rows belong to one respondent.

    An action that has fired before leaves a row too, under a random key. So nothing shows which completions
    are the respondent's first.
    """
    own, *merged = respondents
    if at_most is not None:
        at_most -= sum(sessions(project_id=project_id, respondent=each) for each in merged)
    numbers = list(range(1, NEAR + 1 if at_most is None else min(NEAR, at_most) + 1))
    while numbers and (at_most is None or numbers[0] <= at_most):
        with prepared() as cursor:
            cursor.execute(
                _COMPLETE_ANONYMOUSLY,
                {
                    "project": project_id,
                    "respondent": own,
                    "hashes": [_completion_hash(project_id, own, number) for number in numbers],
                    "numbers": numbers,
                    **_anonymous_actions(project_id, respondents, actions),
                },
            )
            is_counted, fired, earlier = cursor.fetchone()
        if is_counted:
            return CountedCompletion(None, fired)
        numbers = [_last_number(project_id, own, after=earlier) + 1]
    return None


# Actions that have fired already leave a row with a random key.
_FIRED = """
    INSERT INTO surveys_firedaction (project_id, action, scope)
    SELECT %(project)s, due.action, CASE WHEN EXISTS (
        SELECT FROM unnest(%(known_actions)s::text[], %(known_scopes)s::text[]) AS known(action, scope)
        JOIN surveys_firedaction earlier
            ON (earlier.project_id, earlier.action, earlier.scope)
                = (%(project)s, known.action, known.scope)
        WHERE known.action = due.action
    ) THEN due.decoy ELSE due.hidden END
    FROM unnest(%(actions)s::text[], %(hidden)s::text[], %(decoys)s::text[]) AS due(action, hidden, decoy)
"""
_COMPLETE_ANONYMOUSLY = f"""
    WITH earlier AS (
        SELECT coalesce(max(completions), 0) AS count FROM surveys_completion
        WHERE project_id = %(project)s AND respondent = %(respondent)s
    ), free AS (
        SELECT each.hash FROM earlier, unnest(%(hashes)s::text[], %(numbers)s::int[]) AS each(hash, number)
        WHERE number > earlier.count AND NOT EXISTS (
            SELECT FROM surveys_completion WHERE project_id = %(project)s AND respondent = each.hash
        )
        ORDER BY number LIMIT 1
    ), counted AS (
        INSERT INTO surveys_completion (project_id, respondent, completions, last_session)
        SELECT %(project)s, hash, 1, 1 FROM free
        ON CONFLICT DO NOTHING RETURNING 1
    ), fired AS (
        {_FIRED} WHERE EXISTS (SELECT FROM counted)
        ON CONFLICT DO NOTHING RETURNING action, scope
    )
    SELECT EXISTS (SELECT FROM counted),
        ARRAY(SELECT action FROM fired WHERE scope = ANY(%(hidden)s)),
        (SELECT count FROM earlier)
"""
_FIRE_ANONYMOUSLY = f"""
    WITH fired AS ({_FIRED} ON CONFLICT DO NOTHING RETURNING scope)
    SELECT EXISTS (SELECT FROM fired WHERE scope = ANY(%(hidden)s))
"""


def _anonymous_actions(
    project_id: int, respondents: Sequence[str], actions: Collection[tuple[str, str]]
) -> dict[str, list[str]]:
    """The keys under which actions fire on an anonymous project, and all keys of possible earlier firings.

    An action may have fired for a user who was merged into the respondent. It may also have fired before the
    project's privacy changed; its key then has the plain scope.
    """
    known = [
        (action, key)
        for action, scope in actions
        for each in (respondents if scope == respondents[0] else [scope])
        for key in (each, anonymity.action_hash(project_id=project_id, action=action, scope=each))
    ]
    return {
        "actions": [action for action, _ in actions],
        "hidden": _action_hashes(project_id, actions),
        "decoys": [anonymity.decoy() for _ in actions],
        "known_actions": [action for action, _ in known],
        "known_scopes": [key for _, key in known],
    }


def _completion_hash(project_id: int, respondent: str, number: int) -> str:
    return anonymity.completion_hash(project_id=project_id, respondent=respondent, number=number)


def _last_number(project_id: int, respondent: str, *, after: int) -> int:
    """The last number in use after `after`; `after` itself if no number after it is in use.

    Numbers are used in order, without gaps. So the search tries powers of four, and then numbers between two
    powers. It takes a few statements with a dozen hashes each, however many completions there are.
    """
    powers = [after + 4**exponent for exponent in range(_POWERS)]
    used = _used(project_id, respondent, powers)
    last, missing = after, powers[-1]
    for number in powers:
        if number not in used:
            missing = number
            break
        last = number
    while missing - last > 1:
        step = max(1, (missing - last) // _PROBES)
        probes = list(range(last + step, missing, step))
        used = _used(project_id, respondent, probes)
        missing = next((number for number in probes if number not in used), missing)
        last = max((number for number in probes if number < missing), default=last)
    return last


def _used(project_id: int, respondent: str, numbers: Sequence[int]) -> set[int]:
    hashes = {_completion_hash(project_id, respondent, number): number for number in numbers}
    with prepared() as cursor:
        cursor.execute(
            "SELECT respondent FROM surveys_completion WHERE project_id = %s AND respondent = ANY(%s)",
            [project_id, list(hashes)],
        )
        return {hashes[row[0]] for row in cursor.fetchall()}


def _action_hashes(project_id: int, actions: Iterable[tuple[str, str]]) -> list[str]:
    return [
        anonymity.action_hash(project_id=project_id, action=action, scope=scope) for action, scope in actions
    ]


def fire(*, project_id: int, action: str, scope: str) -> bool:
    """Record that an action fires; False if it has fired before. Waits for a concurrent firing to commit."""
    [hidden] = _action_hashes(project_id, [(action, scope)])
    with prepared() as cursor:
        cursor.execute(
            "INSERT INTO surveys_firedaction (project_id, action, scope)"
            " SELECT %(project)s, %(action)s::text, %(scope)s::text WHERE NOT EXISTS ("
            "   SELECT FROM surveys_firedaction"
            "   WHERE project_id = %(project)s AND action = %(action)s::text AND scope = %(hidden)s"
            " ) ON CONFLICT DO NOTHING",
            {"project": project_id, "action": action, "scope": scope, "hidden": hidden},
        )
        return bool(cursor.rowcount)


def fire_anonymously(*, project_id: int, respondents: Sequence[str], action: str, scope: str) -> bool:
    """The same on an anonymous project, under a key that is unrelated to the respondent's other keys.

    `respondents` as for `complete_anonymously`. Always adds a row, also if the action has fired before.
    """
    with prepared() as cursor:
        cursor.execute(
            _FIRE_ANONYMOUSLY,
            {
                "project": project_id,
                **_anonymous_actions(project_id, respondents, [(action, scope)]),
            },
        )
        return bool(cursor.fetchone()[0])


def sessions(*, project_id: int, respondent: str) -> int:
    """The number of sessions of a project that a respondent has completed, including deleted sessions."""
    numbers = range(1, NEAR + 1)
    hashes = {_completion_hash(project_id, respondent, number): number for number in numbers}
    with prepared() as cursor:
        cursor.execute(
            "SELECT respondent, completions, last_session FROM surveys_completion"
            " WHERE project_id = %s AND respondent = ANY(%s)",
            [project_id, [respondent, *hashes]],
        )
        rows = cursor.fetchall()
    used = {hashes[row[0]] for row in rows if row[0] != respondent}
    numbered = next((number - 1 for number in numbers if number not in used), NEAR)
    if numbered == NEAR:
        numbered = _last_number(project_id, respondent, after=NEAR)
    counted, last_session = next((row[1:] for row in rows if row[0] == respondent), (0, 0))
    if counted > numbered:  # their numbers begin after what was counted before
        numbered += _last_number(project_id, respondent, after=counted) - counted
    return int(last_session + numbered)


def unfire(*, project_id: int, action: str, scope: str) -> None:
    """Forget that an action fired, so that it may fire again."""
    with prepared() as cursor:
        cursor.execute(
            "DELETE FROM surveys_firedaction WHERE project_id = %s AND action = %s AND scope = %s",
            [project_id, action, scope],
        )


def hashes_near(*, project_id: int, respondent: str) -> list[str]:
    """The hashes of a respondent's first completions of an anonymous project, `NEAR` of them."""
    return [_completion_hash(project_id, respondent, number) for number in range(1, NEAR + 1)]
