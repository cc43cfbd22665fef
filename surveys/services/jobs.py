"""Jobs of a worker: taken under a lease, and ended once (decisions 11.3 and 11.4).

    job = take(Analysis, pk, at=…)         None where it is done, or in other hands
    keep(job, at=…)                        before each long step: the lease begins anew
    own = locked(job)                      in the transaction that ends it; raises where another took over

No connection is held while a model works (`let_go`), so the lease is a time in the row. It outlasts the
longest step; a worker that dies leaves it to run out, and the sweep wakes another. One that is told to stop
gives its leases back (`give_back`), and another goes on at once.
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
MOST_DEATHS = 2  # one after the other; the next gives it up

log = structlog.get_logger("colloquy.jobs")
Kind = TypeVar("Kind", bound=Job)

_taken: WeakValueDictionary[tuple[type[Job], int, int], Job] = WeakValueDictionary()  # by this process
_is_ending = threading.Event()


class TakenOver(Exception):
    """Another worker has the job by now, or shall have it, or it is gone: what was done is thrown away."""


def take(kind: type[Kind], pk: int, *, at: datetime) -> Kind | None:
    """Take a lease on a job that waits, or whose worker is gone.

    None where it is finished, gone, in other hands, or has killed too many (`given_up`), and where this
    process is ending.
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


def keep(job: Job, *, at: datetime, **changes: Any) -> None:
    """Begin the lease anew, with changes of the row. Raises TakenOver.

    In a process that is ending the changes are kept, for whoever goes on, but not the lease.
    """
    is_ending = _is_ending.is_set()
    if not _own(job).update(leased_until=at if is_ending else at + LEASE, **changes) or is_ending:
        raise TakenOver


def hand_on(job: Job, *, at: datetime) -> None:
    """End the lease of a job that has got on, so that others have their turn before it is gone on with."""
    _own(job).update(leased_until=at)


def give_back(*, at: datetime) -> None:
    """End the leases of this process, which is ending, and take no more. What it finishes still counts."""
    _is_ending.set()
    for job in list(_taken.values()):
        _own(job).update(leased_until=at)


def _own(job: Job) -> QuerySet[Any]:
    return type(job)._default_manager.filter(pk=job.pk, status=Job.Status.RUNNING, attempt=job.attempt)


def let_go() -> None:
    """Close the database connection before a long wait. Raises RuntimeError inside a transaction."""
    if connection.in_atomic_block:
        raise RuntimeError("A transaction must not stay open while we wait.")
    connection.close()


def locked(job: Kind) -> Kind:
    """The job under a row lock, still in these hands. Call inside a transaction. Raises TakenOver."""
    own = type(job)._default_manager.select_for_update().filter(pk=job.pk, attempt=job.attempt)
    found = own.filter(status=Job.Status.RUNNING).first()
    if found is None:
        raise TakenOver
    return found


def waiting(kind: type[Kind], *, at: datetime) -> Iterator[int]:
    """Jobs that somebody should take: new ones nobody was woken for, and those whose worker is gone."""
    found = kind._default_manager.filter(_waits(at))
    yield from found.order_by("pk").values_list("pk", flat=True)[:1000]


def given_up(kind: type[Kind], *, at: datetime) -> list[int]:
    """Jobs whose workers died one after the other, without getting on: to be ended as failed."""
    lost = kind._default_manager.filter(
        status=Job.Status.RUNNING, leased_until__lte=at, deaths__gte=MOST_DEATHS
    )
    return list(lost.order_by("pk").values_list("pk", flat=True)[:100])


def _waits(at: datetime) -> Q:
    is_left = Q(status=Job.Status.RUNNING, leased_until__lte=at, deaths__lt=MOST_DEATHS)
    return Q(status=Job.Status.PENDING) | is_left
