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
from surveys.services.ground import access, selecting
from surveys.services.representations.analysis import without_texts, without_words
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
    if reads_people or isinstance(counted, ResultsCount):
        return counted
    return replace(
        counted,
        blocks=[without_words(each) for each in counted.blocks],
        variables=[without_texts(each) for each in counted.variables],
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

    Raises what `read` raises, and refuses what `crossing.count` refuses.
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
