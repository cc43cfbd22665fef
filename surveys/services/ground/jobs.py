"""Jobs of a worker: taken under a lease, and ended once (rules 10.3, 10.4, 10.6 and 10.7).

    job = take(Analysis, pk, at=…)         None if it is done or another worker has it
    renew(job, at=…)                       before each long step: extends the lease
    own = locked(job)                      in the transaction that ends it; raises if another took over

No connection is held while a model works (`close_connection`), so the lease is a time in the row, longer
than the longest step. If a worker dies, its lease expires and the sweep wakes another worker. A worker that
is stopped gives its leases back (`give_back`), and another continues at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import structlog
from django.db import connection
from django.db.models import Case, F, Q, QuerySet, When

from surveys.models import Job

LEASE = timedelta(seconds=150)  # longer than a provider takes for one answer, at most
MOST_DEATHS = 2  # in a row; after that the job fails

log = structlog.get_logger("colloquy.jobs")
Kind = TypeVar("Kind", bound=Job)

_taken: WeakValueDictionary[tuple[type[Job], int, int], Job] = WeakValueDictionary()  # by this process
_is_ending = threading.Event()


class TakenOver(Exception):
    """Another worker has the job or will have it, or it was deleted. The work of this one is discarded."""


def take(kind: type[Kind], pk: int, *, at: datetime) -> Kind | None:
    """Take a lease on a job that waits, or whose worker died.

    None if the job is finished, deleted, held by another worker or abandoned, and if this process is ending.
    """
    if _is_ending.is_set():
        return None
    has_died = Case(When(status=Job.Status.RUNNING, then=1), default=0)
    taken = kind._default_manager.filter(_waits(at), pk=pk).update(
        status=Job.Status.RUNNING,
        attempt=F("attempt") + 1,
        deaths=F("deaths") + has_died,
        leased_until=at + LEASE,
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
    """End the leases of this process, which is ending, and take no more jobs. Finished work still counts."""
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
    """The job under a row lock, if this worker still has it. Call inside a transaction. Raises TakenOver."""
    own = type(job)._default_manager.select_for_update().filter(pk=job.pk, attempt=job.attempt)
    current = own.filter(status=Job.Status.RUNNING).first()
    if current is None:
        raise TakenOver
    return current


def waiting(kind: type[Kind], *, at: datetime) -> Iterator[int]:
    """Ids of jobs to take: new ones that woke no worker, and those whose worker died."""
    jobs = kind._default_manager.filter(_waits(at))
    yield from jobs.order_by("pk").values_list("pk", flat=True)[:1000]


def abandoned(kind: type[Kind], *, at: datetime) -> list[int]:
    """Ids of jobs whose workers died repeatedly without progress. They are to be ended as failed."""
    lost = kind._default_manager.filter(
        status=Job.Status.RUNNING, leased_until__lte=at, deaths__gte=MOST_DEATHS
    )
    return list(lost.order_by("pk").values_list("pk", flat=True)[:100])


def _waits(at: datetime) -> Q:
    is_left = Q(status=Job.Status.RUNNING, leased_until__lte=at, deaths__lt=MOST_DEATHS)
    return Q(status=Job.Status.PENDING) | is_left
