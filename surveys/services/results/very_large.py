"""A worker counts parts of very many responses, because a request would take too long.

    count(project=…, selection=…, …)    figures, or the job that counts them
    cross(project=…, rows=…, …)         a cross table, or the job that counts it
    run(count_id=…)                     for the worker
    take_up(at=…)                       for the periodic sweep

The figures of a finished count are returned for ten minutes, or longer if no answer changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import connection
from django.utils import timezone

from communities.ground.errors import InvalidRequest, Unavailable, refuse_all
from communities.ground.queue import wake
from communities.ground.transactions import in_transaction
from surveys.models import Job, Project, ResultsCount
from surveys.services.counting import sent_fields
from surveys.services.ground import anonymity, jobs
from surveys.services.ground.jobs import Clock
from surveys.services.results import crossing, figures
from surveys.services.results.crossing import CrossTable
from surveys.services.results.figures import ALL, Figures, Selection, TooManyToDerive

RUN = "surveys.count_results"
VERY_LARGE = 10_000_000  # From this number of responses on, a worker counts. The count takes 10 s of CPU.
CURRENT = timedelta(minutes=10)  # The figures of a finished count are returned for this time.
KEPT = timedelta(hours=1)
# For this time a failed or refused count is reported as it is; then a request begins a new count.
FAILED_FOR = timedelta(seconds=10)
# One project has at most this many counts at a time, because every filter needs a separate count, and workers
# have other jobs.
MOST_AT_ONCE = 2
SECONDS_BETWEEN_NOTES = 5.0
SECONDS_TO_RETRY = 10
BUSY = "Other parts of these results are being counted. Please retry shortly."
COUNT_FAILED = "These results could not be counted. Please retry."


def count(
    *,
    project: Project,
    selection: Selection,
    segment_by: int | str | None,
    derives: bool,
    counts_fields: bool = False,
    at: datetime,
) -> Figures | ResultsCount:
    """The figures, or the job that counts them.

    Of very many responses, a worker counts the figures that are filtered or segmented, or contain scores or
    declared fields. Refuses the same as `figures.count`; some refusals are known only after the worker has
    counted. Raises Unavailable if the worker's count has failed, or if enough other parts of the project are
    being counted.
    """
    if (selection, segment_by) == (ALL, None):
        try:
            return figures.count(
                project=project,
                derives=derives,
                counts_fields=counts_fields,
                counts_themes=True,
                most_derived=VERY_LARGE,
            )
        except TooManyToDerive:
            pass
    elif figures.responses(project.pk) < VERY_LARGE:
        return figures.count(
            project=project,
            selection=selection,
            segment_by=segment_by,
            derives=derives,
            counts_fields=counts_fields,
            counts_themes=True,
        )
    figures.refuse_unless_countable(
        project=project,
        selection=selection,
        segment_by=segment_by,
        derives=derives,
        counts_fields=counts_fields,
    )
    by = {"segment_by": segment_by}
    job = _job(project, _part(project, selection, by, derives=derives, counts_fields=counts_fields), at)
    found = _counted_of(job)
    return found if isinstance(found, Figures) else job


def cross(
    *,
    project: Project,
    selection: Selection,
    rows: int | str,
    columns: int | str,
    derives: bool,
    at: datetime,
) -> CrossTable | ResultsCount:
    """The cross table, or the job that counts it, of very many responses. Refuses the same as `count`."""
    by = {"rows": rows, "columns": columns}
    if figures.responses(project.pk) < VERY_LARGE:
        return crossing.count(
            project=project, selection=selection, rows=rows, columns=columns, derives=derives
        )
    crossing.refuse_unless_countable(
        project=project, selection=selection, rows=rows, columns=columns, derives=derives
    )
    job = _job(project, _part(project, selection, by, derives=derives, counts_fields=False), at)
    found = _counted_of(job)
    return found if isinstance(found, CrossTable) else job


def _counted_of(job: ResultsCount) -> Figures | CrossTable | None:
    """The result of a finished count; None before the end, and None if the server's secret has changed
    since.
    """
    if job.sealed is None:
        return None
    plain = anonymity.unseal_figures(project_id=job.project_id, sealed=bytes(job.sealed))
    if not plain:
        return None
    told = orjson.loads(plain)
    return CrossTable(**told) if "cells" in told else Figures(**told)


def run(*, count_id: int, now: Clock = timezone.now) -> None:
    """Count a waiting job, or a job that a dead worker left. A second run changes nothing."""
    jobs.carry_out(
        ResultsCount,
        count_id,
        work=lambda job: _complete(job, _count(job, now), at=now()),
        fail=_fail,
        foreseen=InvalidRequest,
        now=now,
    )


def take_up(*, at: datetime) -> None:
    """Wake workers for waiting counts and counts that a dead worker left; end counts that were attempted too
    often.
    """
    jobs.give_up(ResultsCount, fail=_fail, at=at)
    for count_id in jobs.waiting(ResultsCount, at=at):
        wake(RUN, count_id=count_id)
    ResultsCount.objects.filter(completed_at__lt=at - KEPT).delete()


@in_transaction
def _job(project: Project, part: str, at: datetime) -> ResultsCount:
    """Return the running count, else a finished count that is current, else a new count.

    Repeats a refusal of the worker as long as no answer changes, and at least for FAILED_FOR.
    """
    changes = figures.changes(project.pk)
    alike = ResultsCount.objects.filter(project=project, part=part, revision=project.revision)
    newest = alike.order_by("-pk").first()
    if newest is not None and not newest.is_finished:
        return newest
    if newest is not None and newest.completed_at is not None:
        age = at - newest.completed_at
        if newest.violations and (newest.changes == changes or age < FAILED_FOR):
            refuse_all(newest.violations)
        if newest.status == Job.Status.FAILED and age < FAILED_FOR:
            raise Unavailable(COUNT_FAILED, retry_after=int(FAILED_FOR.total_seconds()))
        if (newest.changes == changes or age < CURRENT) and _counted_of(newest) is not None:
            return newest
    if ResultsCount.objects.filter(ResultsCount.UNFINISHED, project=project).count() >= MOST_AT_ONCE:
        raise Unavailable(BUSY, retry_after=SECONDS_TO_RETRY)
    job = ResultsCount(project=project, part=part, revision=project.revision, changes=changes, created_at=at)
    # Another request may have begun the same count
    ResultsCount.objects.bulk_create([job], ignore_conflicts=True)
    begun = alike.filter(ResultsCount.UNFINISHED).first()
    if begun is None:
        raise Unavailable(COUNT_FAILED, retry_after=1)
    wake(RUN, count_id=begun.pk)
    return begun


def _part(
    project: Project,
    selection: Selection,
    by: Mapping[str, int | str | None],
    *,
    derives: bool,
    counts_fields: bool,
) -> str:
    """A key for the part to count, made of everything that the result depends on except the answers and the
    script.
    """
    names = figures.field_names(selection, **by).values()
    declared = sent_fields.declared(project=project, names=names)
    part = {**asdict(selection), "by": by, "derives": derives, "declared": declared}
    if counts_fields and project.hidden_fields:
        part["counted"] = sent_fields.declared(project=project, names=project.hidden_fields)
    return orjson.dumps(part).decode()


def _count(job: ResultsCount, now: Clock) -> Figures | CrossTable:
    project = Project.objects.filter(pk=job.project_id).first()
    part = orjson.loads(job.part)
    by, derives = part.pop("by"), part.pop("derives", True)
    declared, counted = part.pop("declared", {}), part.pop("counted", None)
    times = {
        name: datetime.fromisoformat(part[name])
        for name in ("submitted_after", "submitted_before")
        if part[name] is not None
    }
    selection = Selection(**{**part, **times, "fields": tuple(map(tuple, part["fields"]))})
    names = figures.field_names(selection, **by).values()
    if (
        project is None
        or project.revision != job.revision
        or sent_fields.declared(project=project, names=names) != declared
        or counted not in (None, sent_fields.declared(project=project, names=project.hidden_fields))
    ):  # Nobody would ever request the result again.
        job.delete()
        raise jobs.TakenOver
    jobs.renew(job, at=now(), changes=figures.changes(project.pk))
    if "rows" in by:
        return crossing.count(project=project, selection=selection, **by, derives=derives, max_wait=None)
    return figures.count(
        project=project,
        selection=selection,
        **by,
        derives=derives,
        counts_fields=counted is not None,
        counts_themes=True,
        max_wait=None,
        note=_notes(job, max(figures.responses(project.pk), 1), now),
    )


def _notes(job: ResultsCount, total: int, now: Clock) -> Callable[[int], None]:
    """A function that saves the progress from time to time, and extends the lease.

    The function raises TakenOver. It runs in a thread with its own connection, because the transaction of the
    count writes nothing.
    """
    last = time.monotonic()

    def save(progress: float) -> None:
        try:
            jobs.renew(job, at=now(), progress=progress)
        finally:
            connection.close()

    def note(looked_at: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_NOTES:
            with ThreadPoolExecutor(1) as thread:
                thread.submit(save, min(0.99, round(looked_at / total, 3))).result()
            last = time.monotonic()

    return note


@in_transaction
def _complete(job: ResultsCount, counted: Figures | CrossTable, *, at: datetime) -> None:
    jobs.locked(job)
    sealed = anonymity.seal_figures(project_id=job.project_id, figures=orjson.dumps(counted))
    _end(job, Job.Status.COMPLETED, at=at, sealed=sealed, progress=1.0)
    earlier = ResultsCount.objects.filter(project_id=job.project_id, part=job.part, pk__lt=job.pk)
    earlier.exclude(ResultsCount.UNFINISHED).delete()


def _fail(job: ResultsCount, failure: Exception | None, at: datetime) -> None:
    error, violations = COUNT_FAILED, None
    if isinstance(failure, InvalidRequest):  # Only the count itself could find these refusals.
        error, violations = failure.message, failure.violations
    _end(job, Job.Status.FAILED, at=at, error=error, violations=violations)


def _end(job: ResultsCount, status: str, *, at: datetime, **changes: Any) -> None:
    own = ResultsCount.objects.filter(pk=job.pk, attempt=job.attempt, status=Job.Status.RUNNING)
    own.update(status=status, completed_at=at, leased_until=None, **changes)
