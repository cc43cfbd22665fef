"""Jobs of a worker: a worker takes a job under a lease and ends it once (rules 10.3, 10.4, 10.6 and 10.7).

    carry_out(Analysis, pk, work=…, …)     takes a job, does its work, and fails it if that raises
      job = take(Analysis, pk, at=…)       None if it is done or another worker has it
      renew(job, at=…)                     before each long step: extends the lease
      own = locked(job)                    in the transaction that ends it; raises if another took over
    give_up(Analysis, fail=…, at=…)        for the sweep: fails those whose workers died repeatedly
    waiting(Analysis, at=…)                for the sweep: those to wake a worker for

No database connection is open while a model works (`close_connection`), so the lease is a time in the row,
longer than the longest step. If a worker dies, its lease expires and the sweep wakes another worker. A worker
that is being stopped gives its leases back (`give_back`), and another continues at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Case, F, Q, QuerySet, When

from communities.ground.faults import log_fault
from communities.ground.slots import Slots
from surveys.models import Job, Project

LEASE = timedelta(seconds=150)  # longer than a provider takes at most for one answer
MOST_DEATHS = 2  # in a row; after that the job fails

log = structlog.get_logger("colloquy.jobs")
Kind = TypeVar("Kind", bound=Job)
Clock = Callable[[], datetime]
# Ends a job as failed because of an exception, or because its workers died. Raises TakenOver.
Fail = Callable[[Kind, Exception | None, datetime], None]

_taken: WeakValueDictionary[tuple[type[Job], int, int], Job] = WeakValueDictionary()  # by this process
_is_ending = threading.Event()
# Jobs of this process at one time. A community has a quarter of them, so that its jobs do not delay others.
_threads = Slots(settings.AI_THREADS, most_of_one=max(1, settings.AI_THREADS // 4))


class TakenOver(Exception):
    """Another worker has taken or will take the job, or the job was deleted.

    The work of this worker is discarded.
    """


def carry_out(
    kind: type[Kind],
    pk: int,
    *,
    work: Callable[[Kind], None],
    fail: Fail[Kind],
    foreseen: type[Exception],
    now: Clock,
) -> None:
    """Take a job, do its work, and save the result. A second worker changes nothing.

    An exception of `work` fails the job, and is logged as a fault unless it is `foreseen`. If the database
    fails, the lease expires, and another worker continues. A process that is busy with AI_THREADS jobs, or
    with a quarter of them for the same community, leaves the job to the sweep: its other threads are for
    those who wait for a further question. A cancelled job keeps its thread until its call has ended.
    """
    owner = kind._default_manager.filter(pk=pk).values_list(kind.COMMUNITY, flat=True).first()
    if owner is None or not _threads.acquire(str(owner), timeout=0):
        return
    try:
        job = take(kind, pk, at=now())
        if job is not None:
            _carry_out(job, work=work, fail=fail, foreseen=foreseen, now=now)
    finally:
        _threads.release(str(owner))


def _carry_out(
    job: Kind, *, work: Callable[[Kind], None], fail: Fail[Kind], foreseen: type[Exception], now: Clock
) -> None:
    try:
        work(job)
    except TakenOver:
        return
    except (OperationalError, InterfaceError):
        raise
    except Exception as failure:
        with suppress(TakenOver):
            fail(job, failure, now())
            if not isinstance(failure, foreseen):
                log_fault(log, f"{job._meta.model_name}.fault", failure, job_id=job.pk)


def take(kind: type[Kind], pk: int, *, at: datetime) -> Kind | None:
    """Take a lease on a job that waits, or whose worker died.

    Returns None if the job is finished, deleted, leased by another worker or abandoned, if its project is
    deleted, or if this process is ending.
    """
    if _is_ending.is_set():
        return None
    has_died = Case(When(status=Job.Status.RUNNING, then=1), default=0)
    return _leased(kind, pk, _waits(kind, at), at=at, deaths=F("deaths") + has_died)


def _leased(kind: type[Kind], pk: int, if_it: Q, *, at: datetime, **changes: Any) -> Kind | None:
    taken = kind._default_manager.filter(if_it, pk=pk).update(
        status=Job.Status.RUNNING, attempt=F("attempt") + 1, leased_until=at + LEASE, **changes
    )
    job = kind._default_manager.filter(pk=pk).first() if taken else None
    if job is not None:
        _taken[kind, pk, job.attempt] = job
    return job


def renew(job: Job, *, at: datetime, **changes: Any) -> None:
    """Extend the lease and save changes of the row. Raises TakenOver.

    In a process that is ending, the changes are saved for the next worker and the lease ends.
    """
    is_ending = _is_ending.is_set()
    if not _own(job).update(leased_until=at if is_ending else at + LEASE, **changes) or is_ending:
        raise TakenOver


def pause(job: Job, *, at: datetime) -> None:
    """End the lease of an unfinished job, so that other jobs get their turn before it continues."""
    _own(job).update(leased_until=at)


def give_back(*, at: datetime) -> None:
    """End the leases of this process, which is ending; this process takes no more jobs.

    The results of finished work are still saved.
    """
    _is_ending.set()
    for job in list(_taken.values()):
        _own(job).update(leased_until=at)


def _own(job: Job) -> QuerySet[Any]:
    return type(job)._default_manager.filter(pk=job.pk, status=Job.Status.RUNNING, attempt=job.attempt)


def close_connection() -> None:
    """Close the database connection before a long wait. Raises RuntimeError inside a transaction."""
    if connection.in_atomic_block:
        raise RuntimeError("A transaction must not stay open while we wait.")
    connection.close()


def locked(job: Kind) -> Kind:
    """The job under a row lock, if this worker still has the lease.

    Call inside a transaction. Raises TakenOver.
    """
    own = type(job)._default_manager.select_for_update().filter(pk=job.pk, attempt=job.attempt)
    current = own.filter(status=Job.Status.RUNNING).first()
    if current is None:
        raise TakenOver
    return current


def waiting(kind: type[Kind], *, at: datetime) -> Iterator[int]:
    """Ids of jobs to take: new jobs whose wake-up call was lost, and jobs whose worker died."""
    jobs = kind._default_manager.filter(_waits(kind, at))
    yield from jobs.order_by("pk").values_list("pk", flat=True)[:1000]


def abandoned(kind: type[Kind], *, at: datetime) -> list[int]:
    """Ids of jobs whose workers died repeatedly without progress."""
    lost = kind._default_manager.filter(_is_lost(kind, at))
    return list(lost.order_by("pk").values_list("pk", flat=True)[:100])


def give_up(kind: type[Kind], *, fail: Fail[Kind], at: datetime) -> None:
    """Fail the abandoned jobs, each under a lease, so that a worker that was only slow loses its job."""
    for pk in abandoned(kind, at=at):
        job = _leased(kind, pk, _is_lost(kind, at), at=at)
        if job is not None:
            with suppress(TakenOver):
                fail(job, None, at)


def _present(kind: type[Job]) -> Q:
    """Jobs that can be worked on: those of a deleted project wait until it is restored. Without a join, so
    that an UPDATE that waited looks at the row itself again.
    """
    has_project = kind.COMMUNITY != "community_id"
    return Q(project__in=Project.objects.values("pk")) if has_project else Q()


def _is_lost(kind: type[Job], at: datetime) -> Q:
    return _present(kind) & Q(status=Job.Status.RUNNING, leased_until__lte=at, deaths__gte=MOST_DEATHS)


def _waits(kind: type[Job], at: datetime) -> Q:
    is_left = Q(status=Job.Status.RUNNING, leased_until__lte=at, deaths__lt=MOST_DEATHS)
    return _present(kind) & (Q(status=Job.Status.PENDING) | is_left)
