"""The rows of one respondent in anonymous projects, where each completion and each action has its own key.

No key finds all rows of a respondent (rule 7.10). Their keys are computed one by one: for the first
completion, the second and so on until one is missing, and for each action that ever fired in the project.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from surveys.services.ground import anonymity

AT_FIRST = 2  # completions in the first lookup; each further lookup takes four times as many
Whose = Sequence[tuple[int, str]]  # a project's id, and a respondent's keyed hash there

_EARLIER = """
    SELECT project_id, respondent, completions FROM surveys_completion
    JOIN unnest(%s::bigint[], %s::text[]) AS theirs(project_id, respondent) USING (project_id, respondent)
"""
_FOUND = """
    SELECT project_id, respondent FROM surveys_completion
    JOIN unnest(%s::bigint[], %s::text[]) AS theirs(project_id, respondent) USING (project_id, respondent)
"""
# A loose index scan: from one action of a project to the next takes one index lookup.
_ACTIONS = """
    WITH RECURSIVE known AS (
        SELECT id AS project_id,
            (SELECT min(action) FROM surveys_firedaction WHERE project_id = own.id) AS action
        FROM unnest(%s::bigint[]) AS own(id)
        UNION ALL
        SELECT project_id, (
            SELECT min(action) FROM surveys_firedaction
            WHERE project_id = known.project_id AND action > known.action
        )
        FROM known WHERE action IS NOT NULL
    )
    SELECT project_id, action FROM known WHERE action IS NOT NULL
"""
_FIRED = """
    SELECT project_id, action, scope FROM surveys_firedaction
    JOIN unnest(%s::bigint[], %s::text[], %s::text[]) AS theirs(project_id, action, scope)
        USING (project_id, action, scope)
"""


@dataclass(frozen=True, slots=True)
class RespondentRows:
    """The rows of one respondent in one project.

    One row counts the `earlier` completions, which are older than the rows for single completions. `numbers`
    are the numbers of the completions that have rows of their own.
    """

    project_id: int
    respondent: str
    earlier: int
    numbers: Sequence[int]

    @property
    def total(self) -> int:
        return self.earlier + len(self.numbers)

    def scopes(self) -> list[str]:
        """The scopes in which actions may have fired: the respondent, and each of their sessions."""
        sessions = (f"{self.respondent}:{number}" for number in range(self.total + 1))
        return [
            self.respondent,
            *(anonymity.session_hash(project_id=self.project_id, session=each) for each in sessions),
        ]


def find(whose: Whose) -> list[RespondentRows]:
    """Find the rows of each of these respondents.

    Numbers start after the earlier completions. Lower numbers are older than the change of the project's
    privacy.
    """
    earlier = {(project_id, respondent): count for project_id, respondent, count in _select(_EARLIER, whose)}
    numbers: dict[tuple[int, str], list[int]] = {key: [] for key in whose}
    looking, begin, width = list(numbers), 1, AT_FIRST
    while looking:
        sought = {
            (key[0], _completion(*key, number)): (key, number)
            for key in looking
            for number in range(begin, earlier.get(key, 0) + begin + width)
        }
        existing = {sought[row] for row in _select(_FOUND, list(sought))}
        for key, number in sorted(existing):
            numbers[key].append(number)
        # If the highest number exists, there may be more.
        looking = [key for key in looking if (key, earlier.get(key, 0) + begin + width - 1) in existing]
        begin, width = begin + width, width * 4
    return [RespondentRows(*key, earlier.get(key, 0), sorted(set(own))) for key, own in numbers.items()]


def fired(of: Iterable[RespondentRows]) -> list[tuple[int, str]]:
    """The project and action of every firing for these respondents."""
    return [(project_id, action) for project_id, action, _ in _select(_FIRED, _possible(list(of)))]


def _possible(of: Sequence[RespondentRows]) -> list[tuple[int, str, str]]:
    """The keys of all actions that may have fired for these respondents."""
    actions = _actions({each.project_id for each in of})
    return [
        (each.project_id, action, _action(each, action, scope))
        for each in of
        if each.project_id in actions
        for scope in each.scopes()
        for action in actions[each.project_id]
    ]


def _actions(project_ids: Iterable[int]) -> dict[int, list[str]]:
    """The actions that ever fired in each of these projects."""
    by_project: dict[int, list[str]] = {}
    for project_id, action in _select(_ACTIONS, [(project_id,) for project_id in project_ids]):
        by_project.setdefault(project_id, []).append(action)
    return by_project


def _completion(project_id: int, respondent: str, number: int) -> str:
    return anonymity.completion_hash(project_id=project_id, respondent=respondent, number=number)


def _action(of: RespondentRows, action: str, scope: str) -> str:
    return anonymity.action_hash(project_id=of.project_id, action=action, scope=scope)


def _select(sql: str, rows: Sequence[tuple[object, ...]]) -> list[Any]:
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(sql, [list(column) for column in zip(*rows, strict=True)])
        return list(cursor.fetchall())
