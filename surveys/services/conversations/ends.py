"""The ends of a project: `end`, and `ends` with a `where`, of which some screen out (rules 6.181 and 6.410).

chosen(project, …)        the end that a state leads to
ended_early(project, …)   a move, which ends where it is certain that the end screens out
outcome(project, …)       what is stored with a response that is screened out
figures(project)          for staff: how many each end screened out
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count

from surveys.engine import where
from surveys.engine.rules import dependence
from surveys.engine.script import Script
from surveys.engine.walk import runner
from surveys.engine.walk.runner import State, Turn
from surveys.models import Conversation, Project
from surveys.services.ground import script_settings

SCREENED_OUT = Conversation.SCREENED_OUT


def chosen(project: Project, script: Script, state: State) -> Mapping[str, Any] | None:
    """The first of the `ends` whose expression is true, else `end`."""
    holds = where.judge(script=script, state=state)
    return next((each for each in project.ends if holds(each["where"])), project.end)


def ended_early(project: Project, script: Script, turn: Turn) -> Turn:
    """The turn, or the end if an end screens out that no later answer can change.

    That is once all questions are passed that it and the ends before it name. Not during a review, where
    answers still change.
    """
    if turn.completes or turn.show is None or not _screens(project):
        return turn
    holds = where.judge(script=script, state=turn.state)
    for each in project.ends:
        decided_at = dependence.decided_at(each["where"], script=script)
        if decided_at is None or decided_at > turn.state.at:
            return turn
        if holds(each["where"]):
            return runner.ended(script, turn) if each.get(dependence.SCREEN_OUT) else turn
    return turn


def outcome(project: Project, script: Script, state: State) -> str | None:
    """The `outcome` of a response that ends in this state, if it is screened out; else None.

    On anonymous projects it does not name the end: the end would reveal answers of a response that is stored
    without answers.
    """
    if not _screens(project):
        return None
    end = chosen(project, script, state)
    if end is None or not end.get(dependence.SCREEN_OUT):
        return None
    return SCREENED_OUT if project.is_anonymous else _outcome_of(end)


def _screens(project: Project) -> bool:
    return any(each.get(dependence.SCREEN_OUT) for each in project.ends)


def _outcome_of(end: Mapping[str, Any]) -> str:
    return f"{SCREENED_OUT}:{script_settings.count_key(end['where'])}"


def figures(project: Project) -> Mapping[str, int]:
    """How many responses were screened out: by the `where` of each end that did, and all by an empty text.

    On anonymous projects only the number of all is known.
    """
    rows = Conversation.objects.filter(project_id=project.pk, outcome__startswith=SCREENED_OUT)
    numbers = dict(rows.values_list("outcome").annotate(number=Count("pk")))
    found = {each["where"]: numbers.get(_outcome_of(each), 0) for each in project.ends}
    return {**{text: number for text, number in found.items() if number}, "": sum(numbers.values())}
