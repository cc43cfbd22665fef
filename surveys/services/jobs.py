"""Jobs of a worker: taken under a lease, and ended once (decisions 11.3 and 11.4).

    job = take(Analysis, pk, at=…)         None where it is done, or in other hands
    keep(job, at=…)                        before each long step: the lease begins anew
    own = locked(job)                      in the transaction that ends it; raises where another took over

No connection is held while a model works (`let_go`), so the lease is a time in the row. It outlasts the
longest step; a worker that dies leaves it to run out, and the sweep wakes another.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from django.db import connection
from django.db.models import F, Q

from surveys.models import Job

LEASE = timedelta(seconds=150)  # longer than a provider takes for one answer, at most
MOST_ATTEMPTS = 3

log = structlog.get_logger("colloquy.jobs")
Kind = TypeVar("Kind", bound=Job)


class TakenOver(Exception):
    """Another worker has the job by now, or it is gone: what was done for it is thrown away."""


def take(kind: type[Kind], pk: int, *, at: datetime) -> Kind | None:
    """Take a lease on a job that waits, or whose worker is gone.

    None where it is finished, gone, in other hands, or was attempted too often (`given_up`).
    """
    waits = Q(status=Job.Status.PENDING) | Q(status=Job.Status.RUNNING, leased_until__lte=at)
    taken = kind._default_manager.filter(waits, pk=pk, attempt__lt=MOST_ATTEMPTS).update(
        status=Job.Status.RUNNING, attempt=F("attempt") + 1, leased_until=at + LEASE
    )
    return kind._default_manager.get(pk=pk) if taken else None


def keep(job: Job, *, at: datetime, **changes: Any) -> None:
    """Begin the lease anew, with changes of the row. Raises TakenOver."""
    own = type(job)._default_manager.filter(pk=job.pk, status=Job.Status.RUNNING, attempt=job.attempt)
    if not own.update(leased_until=at + LEASE, **changes):
        raise TakenOver


def let_go() -> None:
    """Give the database connection back before a long wait. Raises RuntimeError inside a transaction."""
    blocks = connection.atomic_blocks
    if not blocks:
        connection.close()
    elif not getattr(blocks[-1], "_from_testcase", False):  # that is excused, as by Django's own `durable`
        raise RuntimeError("Nobody may be waited for inside a transaction.")


def locked(job: Kind) -> Kind:
    """The job under a row lock, still in these hands. Call inside a transaction. Raises TakenOver."""
    own = type(job)._default_manager.select_for_update().filter(pk=job.pk, attempt=job.attempt)
    found = own.filter(status=Job.Status.RUNNING).first()
    if found is None:
        raise TakenOver
    return found


def waiting(kind: type[Kind], *, at: datetime) -> Iterator[int]:
    """Jobs that somebody should take: new ones nobody was woken for, and those whose worker is gone."""
    waits = Q(status=Job.Status.PENDING) | Q(status=Job.Status.RUNNING, leased_until__lte=at)
    found = kind._default_manager.filter(waits, attempt__lt=MOST_ATTEMPTS)
    yield from found.order_by("pk").values_list("pk", flat=True)[:1000]


def given_up(kind: type[Kind], *, at: datetime) -> list[int]:
    """Jobs that were attempted too often, each time by a worker that died: to be ended as failed."""
    lost = kind._default_manager.filter(
        status=Job.Status.RUNNING, leased_until__lte=at, attempt__gte=MOST_ATTEMPTS
    )
    return list(lost.order_by("pk").values_list("pk", flat=True)[:100])


def log_fault(event: str, fault: BaseException, **ids: int) -> None:
    """Log a fault of our own by where it happened; its words may repeat what somebody wrote."""
    frames = [
        f"{at.filename}:{at.lineno} {at.name}" for at in traceback.extract_tb(fault.__traceback__)[-12:]
    ]
    log.error(event, fault=type(fault).__qualname__, frames=frames, **ids)
