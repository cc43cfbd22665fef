"""Transactions of services. They set no savepoints, and run again after a deadlock. A time limit for their
statements.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

import structlog
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection
from django.db.transaction import Atomic, atomic
from psycopg.errors import DeadlockDetected, QueryCanceled, SerializationFailure

from communities.ground.statements import prepared

ATTEMPTS = 3
P = ParamSpec("P")
R = TypeVar("R")
log = structlog.get_logger("colloquy.transactions")


class InTransaction(Atomic):
    """A block that runs in the caller's transaction, or in a new transaction if there is none."""

    def __init__(self) -> None:
        super().__init__(DEFAULT_DB_ALIAS, savepoint=False, durable=False)


in_transaction = InTransaction()
"""Decorator and context manager for a service's block: `@in_transaction`, or `with in_transaction:`.

Inside another transaction the block sets no savepoint, which saves two statements and 0.28 ms of CPU. An
exception that leaves the block therefore ends the whole transaction: Django refuses further queries and rolls
back at the end. Refusals usually leave the outermost block, too. Code that catches an exception and continues
in the same transaction wraps the part that may fail in Django's `transaction.atomic()`, which sets a
savepoint.
"""


class TakesTooLong(Exception):
    """A statement was stopped, because it would have taken too long."""


_ends: ContextVar[float] = ContextVar("ends", default=math.inf)  # when the time of `stopped_after` is over
_SHORTEN = """
    WITH known AS MATERIALIZED (SELECT setting FROM pg_settings WHERE name = 'statement_timeout')
    SELECT setting FROM known, set_config(
        'statement_timeout', (SELECT least(nullif(setting::int, 0), %s::int)::text FROM known), true
    )
"""


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """A transaction, or a savepoint in one, in which each statement is stopped after `seconds`.

    Raises TakesTooLong. `require_time` raises it, too, once all statements together took so long.
    """
    ends = _ends.set(min(time.monotonic() + seconds, _ends.get()))
    try:
        with atomic():
            with prepared() as cursor:
                cursor.execute(_SHORTEN, [round(seconds * 1000)])
                [[before]] = cursor.fetchall()
            yield
            with prepared() as cursor:
                cursor.execute("SELECT set_config('statement_timeout', %s, true)", [before])
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise TakesTooLong from error
        raise
    finally:
        _ends.reset(ends)


def require_time() -> None:
    """Raise TakesTooLong if the time of a surrounding `stopped_after` is over. Call it between statements."""
    if time.monotonic() > _ends.get():
        raise TakesTooLong


def again_after_deadlock(service: Callable[P, R]) -> Callable[P, R]:
    """Decorator for a service that locks rows. The service runs again if a deadlock has ended its
    transaction.

    Such a transaction has changed nothing. The third deadlock in a row is raised. Inside the caller's
    transaction nothing runs again, because that transaction is lost as a whole.
    """

    @functools.wraps(service)
    def attempted(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(ATTEMPTS - 1):
            try:
                return service(*args, **kwargs)
            except OperationalError as error:
                is_lost = isinstance(error.__cause__, DeadlockDetected | SerializationFailure)
                if not is_lost or connection.in_atomic_block:
                    raise
                log.warning("transactions.deadlock", service=service.__qualname__)
        return service(*args, **kwargs)

    return attempted
