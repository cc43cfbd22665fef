"""Results as each reader may see them, for the interface and the admin's tab (rules 1.35 and 6.58).

read(actor=…, project=…, …)     figures, the job that counts them, or what is shared of an anonymous project
cross(actor=…, project=…, …)    a cross table, or the job that counts it
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial

from communities.ground.actors import Actor
from communities.ground.errors import Forbidden
from surveys.models import Project, ResultsCount
from surveys.services.ground import access, anonymity, selecting
from surveys.services.representations import analysis
from surveys.services.results import shared, very_large
from surveys.services.results.crossing import CrossTable
from surveys.services.results.figures import ALL, Figures, Selection
from surveys.services.results.shared import SharedResults
from surveys.services.scripts import cache as script_cache

WHOLE_ALONE = (
    "These results are shared as a whole: filters and segments, which could single out a person, are for "
    "the project's creator and admins."
)


def read(
    *,
    actor: Actor,
    project: Project,
    selection: Selection = ALL,
    segment_by: int | str | None = None,
    at: datetime,
) -> Figures | ResultsCount | SharedResults:
    """The results that a reader may see (rule 6.57).

    Readers who may not read single responses get aggregates over the whole project. On anonymous projects
    these are the shared results; on others they contain no texts. Scores and calculated results are counted
    only for readers who may know the correct answers, and declared fields only for readers who may read
    single responses.

    Raises NotFound and Forbidden for readers who may not read the results or this part of them, and the
    errors of `very_large.count`.
    """
    access.require_results_reader(actor=actor, project=project, at=at)
    reads_people = access.may_read_people(actor=actor, project=project)
    if not reads_people and (selection, segment_by) != (ALL, None):
        raise Forbidden(WHOLE_ALONE)
    if not reads_people and project.is_anonymous:
        return shared.read(project=project, at=at)
    derives = _derives(actor, project, selection)
    counted = very_large.count(
        project=project,
        selection=selection,
        segment_by=segment_by,
        derives=derives,
        counts_fields=reads_people,
        at=at,
    )
    return counted if reads_people or isinstance(counted, ResultsCount) else in_totals(counted, project)


def in_totals(counted: Figures, project: Project) -> Figures:
    """Figures of a project that is not anonymous for readers who may not read its single responses.

    They contain nobody's words. Figures of blocks with conditions are over at least five answers, and so is
    each entry of scores and calculated results (rule 1.153).
    """
    conditional_ids = script_cache.of(project).stored.conditional_ids
    blocks = [
        analysis.in_totals(
            analysis.without_words(each),
            least=analysis.least_answers(each, least=None, conditional_ids=conditional_ids),
        )
        for each in counted.blocks
    ]
    scores = counted.scores and [dict(anonymity.without_few(each)) for each in counted.scores]
    return replace(
        counted,
        response_count=sum(each["response_count"] or 0 for each in blocks),
        blocks=blocks,
        scores=scores,
        variables=[analysis.without_texts(each) for each in counted.variables],
    )


def cross(
    *,
    actor: Actor,
    project: Project,
    selection: Selection = ALL,
    rows: int | str,
    columns: int | str,
    at: datetime,
) -> CrossTable | ResultsCount:
    """A cross table, for readers of single responses (rule 6.325).

    Raises the same as `read`, and refuses the same as `crossing.count`.
    """
    access.require_results_reader(actor=actor, project=project, at=at)
    if not access.may_read_people(actor=actor, project=project):
        raise Forbidden(WHOLE_ALONE)
    derives = _derives(actor, project, selection)
    return very_large.cross(
        project=project, selection=selection, rows=rows, columns=columns, derives=derives, at=at
    )


def _derives(actor: Actor, project: Project, selection: Selection) -> bool:
    """Whether the reader may know scores and calculated results. Refuses an expression that names them."""
    derives = access.may_read_solutions(actor=actor, project=project)
    script = partial(script_cache.script_of, project)
    selecting.refuse_faults(selection.where, script=script, solutions=derives)
    return derives
