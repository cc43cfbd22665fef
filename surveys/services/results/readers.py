"""Results as each reader may see them, for the interface and the admin's tab (rules 1.35 and 6.58).

read(actor=…, project=…, …)     figures, the job that counts them, or what is shared of an anonymous project
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
    derives = access.may_read_solutions(actor=actor, project=project)
    script = partial(script_cache.script_of, project)
    selecting.refuse_faults(selection.where, script=script, solutions=derives)
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
