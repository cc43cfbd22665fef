"""Dashboards: chosen charts of a project in an order of their own (rules 6.379 to 6.381).

of(project)                     its dashboard, or None
required(project)               its dashboard; raises NotFound
change(actor=…, …)              keeps one
remove(actor=…, …)              removes it
selection_of(dashboard, …)      the responses that it counts
chosen(dashboard, figures)      its figures among those of all blocks, in its order
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import NotFound, refuse
from communities.ground.sent_text import sent_text
from communities.ground.transactions import in_transaction
from surveys.engine.script import QUESTIONS
from surveys.engine.where import carried
from surveys.models import Dashboard, Project
from surveys.services.counting.counts import Selection
from surveys.services.ground import access, history, lookup, selecting
from surveys.services.results import weighing
from surveys.services.scripts import cache as script_cache

NOT_ANONYMOUS = (
    "The dashboard of an anonymous project is shared without conditions and weights, because these could "
    "tell single people’s answers."
)
MAX_TITLE = 200
NO_DASHBOARD = "This project has no dashboard."
_FIELDS = ("title", "block_ids", "where", "weight_by", "is_shared")


def of(project: Project) -> Dashboard | None:
    """The project's dashboard. Reads it once, or not at all if it was loaded with the project."""
    found: Dashboard | None = getattr(project, "dashboard", None)
    return found


def required(project: Project) -> Dashboard:
    """The project's dashboard. Raises NotFound."""
    if (found := of(project)) is None:
        raise NotFound(NO_DASHBOARD)
    return found


def selection_of(dashboard: Dashboard) -> Selection:
    """The responses that a dashboard counts, and their weight."""
    return Selection(where=dashboard.where or None, weight_by=dashboard.weight_by or None)


def chosen(dashboard: Dashboard, blocks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The chosen questions among these figures, in the order of the dashboard. Removed ones are left out."""
    by_id = {each["block_id"]: each for each in blocks if not each.get("is_archived")}
    return [by_id[each] for each in dashboard.block_ids if each in by_id]


def questions(project: Project) -> dict[int, str]:
    """The questions that have a chart, with their prompts, in the order of the script."""
    blocks = script_cache.script_of(project).blocks
    return {block.id or 0: block.prompt for block in blocks if block.type in QUESTIONS}


@in_transaction
def change(
    *,
    actor: Actor,
    project_id: int,
    title: str,
    block_ids: Sequence[int],
    where: str,
    weight_by: str,
    is_shared: bool,
    at: datetime,
) -> Dashboard:
    """Keep a dashboard in the place of the one before, for editors who may read single responses.

    Refuses charts of other questions, faults of the expression, a weight that is not declared, and a shared
    dashboard of an anonymous project with either of them. Raises NotFound and Forbidden.
    """
    project = _locked(actor, project_id, at)
    known = questions(project)
    if not block_ids:
        refuse("block_ids", "required", "Choose at least one chart.")
    if not known.keys() >= set(block_ids) or len(set(block_ids)) < len(block_ids):
        refuse("block_ids", "invalid", "Each chart is of a question of the script, and there once.")
    after = Dashboard(
        project=project,
        title=sent_text(title).strip(),
        block_ids=[*block_ids],
        where=where,
        weight_by=weight_by,
        is_shared=is_shared,
    )
    weighing.refuse_undeclared(project=project, selection=Selection(weight_by=weight_by or None))
    after.where = _with_names(
        where, project, solutions=access.may_read_solutions(actor=actor, project=project)
    )
    if project.is_anonymous and is_shared and after.is_narrowed:
        refuse("is_shared", "not_allowed", NOT_ANONYMOUS)
    before = _values(Dashboard.objects.filter(project=project).first())
    after.save(force_insert=not before, force_update=bool(before))
    history.record_change(
        Action.PROJECT_UPDATED, project, actor=actor, at=at, before=before, after=_values(after)
    )
    return after


@in_transaction
def remove(*, actor: Actor, project_id: int, at: datetime) -> None:
    """Remove the dashboard; nothing happens without one. Raises NotFound and Forbidden."""
    project = _locked(actor, project_id, at)
    before = _values(Dashboard.objects.filter(project=project).first())
    Dashboard.objects.filter(project=project).delete()
    history.record_change(Action.PROJECT_UPDATED, project, actor=actor, at=at, before=before, after={})


def _locked(actor: Actor, project_id: int, at: datetime) -> Project:
    project = lookup.lock(actor=actor, project_id=project_id)
    access.require_responses_reader(actor=actor, project=project, at=at)
    return project


def _with_names(where: str, project: Project, *, solutions: bool) -> str:
    """An expression with the names of blocks in place of their positions (rule 6.472). Refuses its faults;
    one that only its names make too long has a fault, too.

    Everybody may see a shared dashboard, and staff rename themes, so it cannot name what an analysis read.
    """
    if not where:
        return ""
    script = script_cache.script_of(project)
    selecting.refuse_faults(where, script=lambda: script, solutions=solutions, readings=False)
    named = carried(where, before=script, after=script.blocks)
    selecting.refuse_faults(named, script=lambda: script, solutions=solutions)
    return named


def _values(dashboard: Dashboard | None) -> dict[str, Any]:
    if dashboard is None:
        return {}
    return {"dashboard": {name: getattr(dashboard, name) for name in _FIELDS}}
