"""The places of a project: `max_completes` and `quotas` (rules 6.172 to 6.176, 6.186 and 6.187).

    require_free(project, …)    at the beginning
    take(project, …)            at the end, and when a completed vote changes
    free(project, …)            when a completed response is deleted
    first_full, figures         for pages and staff

The limits are kept by an advisory lock of the project, which only projects with such a setting take. It comes
after the locks of the project's row and of the member, and before the counts of the respondent and of the
project. A beginning takes it only if the responses of a quota have to be counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from communities.ground.errors import Conflict, violation
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from communities.services.tenants import settings as community_settings
from surveys.engine import where
from surveys.engine.script import Script
from surveys.engine.walk.runner import State
from surveys.models import Project
from surveys.services.ground import script_settings
from surveys.services.scripts import editing as scripts

BATCH = 2_000  # conversations that are read at once, to count those of a quota
WORDS = "We have all the answers that we need. Thank you for your interest!"
_LOCK = "colloquy places:"


class Full(Conflict):
    """The project takes no more completed responses, or none that satisfy a quota.

    `words` are for the respondent.
    """

    def __init__(self, field: str, words: str) -> None:
        message = f"`{field}` is reached: this project takes no more such responses."
        super().__init__(message, violations=[violation(field, "full", message)])
        self.words = words


@dataclass(frozen=True, slots=True)
class Figure:
    """How many completed responses there are of those that a limit allows; `where` is empty for all."""

    where: str
    limit: int
    filled: int

    @property
    def is_full(self) -> bool:
        return self.filled >= self.limit


def require_free(project: Project, fields: Mapping[str, str]) -> None:
    """Refuse a beginning with these `fields`, if it is certain that the end would be refused. Raises Full."""
    if (full := first_full(project, fields)) is not None:
        raise full


def first_full(project: Project, fields: Mapping[str, str]) -> Full | None:
    """The limit that refuses a beginning with these `fields`; None if there is none.

    Keeps what had to be counted.
    """
    if project.max_completes is not None and _completed(project.pk) >= project.max_completes:
        return Full("settings.max_completes", WORDS)
    known = [
        (place, quota)
        for place, quota in enumerate(project.quotas)
        if where.is_known_at_start(quota["where"])
    ]
    if not known:
        return None
    quotas, state = _Quotas(project), State(fields=fields)
    due = [(place, quota) for place, quota in known if quotas.holds(quota["where"], state)]
    filled = quotas.filled([quota["where"] for _, quota in due])
    return next(
        (_full(place, each) for place, each in due if filled[quotas.key(each["where"])] >= each["limit"]),
        None,
    )


def take(project: Project, *, before: State | None, after: State) -> None:
    """Take the places of a response that is completed now, or of a changed vote that was one `before`.

    Raises Full. The lock is held until the transaction ends, so two responses never take the same place.
    """
    if project.max_completes is None and not project.quotas:
        return
    _lock(project.pk)
    most = project.max_completes if before is None else None
    if most is not None and _completed(project.pk) >= most:
        raise Full("settings.max_completes", WORDS)
    if not project.quotas:
        return
    quotas, changes = _Quotas(project), dict[str, int]()
    filled = quotas.filled([each["where"] for each in project.quotas])
    for place, quota in enumerate(project.quotas):
        text, key = quota["where"], quotas.key(quota["where"])
        change = quotas.holds(text, after) - (before is not None and quotas.holds(text, before))
        if change > 0 and filled[key] >= quota["limit"]:
            raise _full(place, quota)
        changes[key] = change
    _add(project.pk, changes)


def free(project: Project, state: Mapping[str, object]) -> None:
    """Free the places of a completed response that is about to be deleted. `state` is its stored one."""
    if not project.quotas:  # `max_completes` is compared with the project's counts
        return
    _lock(project.pk)
    quotas, read = _Quotas(project), State.from_json(state)
    _keep(project.pk, quotas.keys)
    _add(
        project.pk, {quotas.key(each["where"]): -quotas.holds(each["where"], read) for each in project.quotas}
    )


def forget(project: Project) -> None:
    """Have the responses of each quota counted anew, because many of them change in this transaction."""
    if project.quotas:
        _lock(project.pk)
        script_settings.forget_counts(project)


def figures(project: Project) -> Sequence[Figure]:
    """How far each limit of a project is used. Keeps what had to be counted."""
    found = list[Figure]()
    if project.max_completes is not None:
        found.append(Figure("", project.max_completes, _completed(project.pk)))
    if project.quotas:
        quotas = _Quotas(project)
        filled = quotas.filled([each["where"] for each in project.quotas])
        found += [
            Figure(each["where"], each["limit"], filled[quotas.key(each["where"])]) for each in project.quotas
        ]
    return found


class _Quotas:
    """The expressions of a project's quotas, with all that they are evaluated by."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.script: Script = scripts.load(project_id=project.pk, revision=project.revision)
        self.language = community_settings.language(community_id=project.community_id)

    def holds(self, text: str, state: State) -> bool:
        return where.holds(text, script=self.script, state=state, language=self.language)

    def key(self, text: str) -> str:
        """The key of an expression's count: a hash of it, and of the language if it names that."""
        known = f"{text}\n{self.language}" if where.names_language(text) else text
        return hashlib.sha256(known.encode()).hexdigest()[:32]

    @property
    def keys(self) -> list[str]:
        return [self.key(each["where"]) for each in self.project.quotas]

    def filled(self, texts: Sequence[str]) -> Mapping[str, int]:
        """How many completed responses satisfy each expression, by its key.

        Those that are not known are counted and kept, under the lock.
        """
        by_key = {self.key(text): text for text in texts}
        known = _stored(self.project.pk) if by_key else {}
        return known if by_key.keys() <= known.keys() else self._counted(by_key)

    @in_transaction
    def _counted(self, by_key: Mapping[str, str]) -> Mapping[str, int]:
        project_id = self.project.pk
        _hold(project_id)
        _lock(project_id)
        known = _stored(project_id)  # another request may have counted them while this one waited
        missing = {key: text for key, text in by_key.items() if key not in known}
        counts = dict.fromkeys(missing, 0)
        for state in _completed_states(project_id) if missing else ():
            for key, text in missing.items():
                counts[key] += self.holds(text, state)
        if counts:
            _keep(project_id, self.keys)
            _store(project_id, counts)
        return known | counts


def _full(place: int, quota: Mapping[str, Any]) -> Full:
    return Full(f"settings.quotas[{place}]", quota["message"] or WORDS)


def _hold(project_id: int) -> None:
    """Lock a project's row as a move does, so that the lock of its places never comes before that row's."""
    with prepared() as cursor:
        cursor.execute("SELECT FROM surveys_project WHERE id = %s FOR KEY SHARE", [project_id])


def _lock(project_id: int) -> None:
    with prepared() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{_LOCK}{project_id}"])


def _completed(project_id: int) -> int:
    with prepared() as cursor:
        sql = "SELECT coalesce(sum(completed), 0)::bigint FROM surveys_tally WHERE project_id = %s"
        cursor.execute(sql, [project_id])
        return int(cursor.fetchone()[0])


def _stored(project_id: int) -> dict[str, int]:
    with prepared() as cursor:
        cursor.execute("SELECT key, filled FROM surveys_quotacount WHERE project_id = %s", [project_id])
        return dict(cursor.fetchall())


def _keep(project_id: int, keys: Sequence[str]) -> None:
    """Forget all other counts: those of another language no longer change with the responses."""
    with prepared() as cursor:
        cursor.execute(
            "DELETE FROM surveys_quotacount WHERE project_id = %s AND key <> ALL(%s::text[])",
            [project_id, list(keys)],
        )


def _store(project_id: int, counts: Mapping[str, int]) -> None:
    with prepared() as cursor:
        cursor.execute(
            "INSERT INTO surveys_quotacount (project_id, key, filled)"
            " SELECT %s, each.key, each.filled FROM unnest(%s::text[], %s::int[]) AS each(key, filled)"
            " ON CONFLICT (project_id, key) DO UPDATE SET filled = excluded.filled",
            [project_id, list(counts), list(counts.values())],
        )


def _add(project_id: int, changes: Mapping[str, int]) -> None:
    """Change the counts that are stored; the others are counted when they are asked for."""
    changes = {key: change for key, change in changes.items() if change}
    if changes:
        with prepared() as cursor:
            cursor.execute(
                "UPDATE surveys_quotacount AS quota SET filled = greatest(quota.filled + each.change, 0)"
                " FROM unnest(%s::text[], %s::int[]) AS each(key, change)"
                " WHERE quota.project_id = %s AND quota.key = each.key",
                [list(changes), list(changes.values()), project_id],
            )


def _completed_states(project_id: int) -> Iterator[State]:
    last = None
    while True:
        with prepared() as cursor:
            cursor.execute(
                "SELECT id, state::text FROM surveys_conversation WHERE project_id = %s"
                " AND completed_at IS NOT NULL AND (%s::uuid IS NULL OR id > %s::uuid) ORDER BY id LIMIT %s",
                [project_id, last, last, BATCH],
            )
            rows = cursor.fetchall()
        yield from (State.from_json(orjson.loads(state)) for _, state in rows)
        if len(rows) < BATCH:
            return
        last = rows[-1][0]
