"""The work of an analysis in a worker: the database counts the figures, and an AI provider reads the texts.

    run(analysis_id=…)           from its last checkpoint to its end
    fail(job, failure, at)       the end of one that failed, or whose workers died too often

`text_analysis` reads the texts. One short transaction ends the analysis, with its event and its credits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from communities import services as communities
from communities.ground import wire
from communities.ground.transactions import in_transaction
from surveys import ai
from surveys.ai.provider import (
    LOCAL,
    ProviderError,
)
from surveys.models import Analysis, Job, Project
from surveys.services import events
from surveys.services.ai_work import readings
from surveys.services.ai_work.analysis.bulk_readings import cancel_bulk
from surveys.services.ai_work.analysis.text_analysis import AnalysisResult, TextAnalysis
from surveys.services.ai_work.analysis.text_reader import paid_texts
from surveys.services.ground import anonymity, jobs
from surveys.services.ground.jobs import Clock
from surveys.services.results import figures
from surveys.services.results.figures import Selection

ANALYSIS_FAILED = (
    "The analysis could not be made. Credits were charged only for answers that were read; please request it "
    "again."
)


def run(*, analysis_id: int, now: Clock = timezone.now) -> None:
    """Perform an analysis that waits, or that a dead worker left. A second run changes nothing."""
    jobs.carry_out(
        Analysis,
        analysis_id,
        work=lambda job: _complete(job, _analyse(job, now), at=now()),
        fail=fail,
        foreseen=ProviderError,
        now=now,
    )


# --- The work -------------------------------------------------------------------------------------


def _analyse(job: Analysis, now: Clock) -> AnalysisResult:
    project = Project.objects.filter(pk=job.project_id).first()
    if project is None:
        raise jobs.TakenOver
    if job.checkpoint is None:
        _note_starting_point(job, project, now)
    counted = figures.count(project=project, selection=Selection(covers=job.covers), max_wait=None)
    return TextAnalysis.of(job, project, counted, now).read() if job.with_ai else AnalysisResult(counted)


def is_outdone(done: Analysis) -> bool:
    """Return whether a provider that was connected later reads texts better than the local statistics did."""
    return done.generated_by == LOCAL and not ai.provider_is_free()


def _note_starting_point(job: Analysis, project: Project, now: Clock) -> None:
    """Store the state of the answers before counting, so that later answers make the analysis out of date.

    A worker that takes over keeps the first state, because some texts were read in that state. If more texts
    have arrived than were paid, the state at the time of payment is stored, and the analysis is out of date
    from the beginning.
    """
    totals = figures.totals(project.pk)
    if job.with_ai and readings.count_unread(project_id=project.pk, covers=job.covers) > paid_texts(job):
        totals["changes"] = job.changes
    jobs.renew(job, at=now(), revision=project.revision, checkpoint={}, **totals)


# --- The end --------------------------------------------------------------------------------------


@in_transaction
def _complete(job: Analysis, result: AnalysisResult, *, at: datetime) -> None:
    """Store the result and end the analysis. Raises TakenOver."""
    own, project = _locked(job)
    own.status, own.completed_at = Job.Status.COMPLETED, anonymity.rounded(project=project, at=at)
    own.blocks_as_json = _rendered(result.counted.blocks)
    own.scores_as_json = None if result.counted.scores is None else _rendered(result.counted.scores)
    own.variables_as_json = _rendered(result.counted.variables)
    own.summary, own.generated_by = result.summary, result.generated_by
    if result.generated_by == LOCAL:  # The texts were deleted before all of them could be read.
        _return_credits(own, project, own.unread_credits)
    own.progress = 1.0
    own.spending = result.spent.as_json() if result.spent else None
    _end(own, project, at=at)
    finished = [Job.Status.COMPLETED, Job.Status.FAILED]
    if project.is_anonymous:  # The difference between two analyses would show one person's answer.
        Analysis.objects.filter(project=project, status__in=finished).exclude(pk=own.pk).delete()
    else:  # This analysis replaces earlier analyses of the same kind.
        _earlier_alike(own).filter(status__in=finished).delete()


def _rendered(figures: Sequence[Mapping[str, Any]]) -> str:
    return wire.render(list(figures)).decode()


def fail(job: Analysis, failure: Exception | None, at: datetime) -> None:
    """End the analysis as failed, and return the credits for answers that were not read. Raises TakenOver.

    Answers that were read stay read: the next analysis does not pay for these answers.
    """
    _fail(job, failure, at)
    if job.bulk_id is not None:
        jobs.close_connection()
        cancel_bulk(job.bulk_id)


@in_transaction
def _fail(job: Analysis, failure: Exception | None, at: datetime) -> None:
    own, project = _locked(job)
    _return_credits(own, project, own.unread_credits)
    own.status, own.checkpoint = Job.Status.FAILED, None
    own.error = failure.message if isinstance(failure, ProviderError) else ANALYSIS_FAILED
    _end(own, project, at=at)
    _earlier_alike(own).filter(status=Job.Status.FAILED).delete()


def _locked(job: Analysis) -> tuple[Analysis, Project]:
    """Lock the project, then the analysis, in the same order as the deletion of a project. Raises
    TakenOver.
    """
    project = Project.objects.select_for_update(no_key=True).filter(pk=job.project_id).first()
    own = jobs.locked(job)
    if project is None:  # The project was deleted. If somebody restores it, another worker continues.
        raise jobs.TakenOver
    return own, project


def _return_credits(own: Analysis, project: Project, amount: int) -> None:
    communities.return_credits(community_id=project.community_id, amount=amount)
    own.credits_used -= amount


def _end(own: Analysis, project: Project, *, at: datetime) -> None:
    own.leased_until = None
    own.save()
    events.analysis_ended(own, project, at=at)


def _earlier_alike(own: Analysis) -> Any:
    """Return earlier analyses of the same project that cover the same responses, with the same use of AI."""
    return Analysis.objects.filter(
        project_id=own.project_id, with_ai=own.with_ai, covers=own.covers, pk__lt=own.pk
    )
