"""Answers an interaction before the platform gives up, which is after three seconds.

Before the reply, nothing waits for the platform, a picture or AI; the worker calls those. The reply waits
only for Redis, whose client gives up after a second, and for the database, whose time this module limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection, transaction

from communities.ground.statements import prepared

SECONDS = 2.6  # from the arrival of the interaction to the reply
LONGEST_STATEMENT = 1.2  # seconds, including the wait for locks
_LEAST = 0.05
_TIMEOUTS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"


class TooLate(OperationalError):
    """There is no time left for another statement."""


@contextmanager
def bounded(*, began: float) -> Iterator[None]:
    """A transaction for all statements of an interaction, which ends in time. Raises OperationalError.

    PostgreSQL stops a statement after LONGEST_STATEMENT, and no statement begins that might end too late.
    `began` is the arrival of the interaction, by `time.monotonic`. Calls that may refuse have a savepoint of
    their own.
    """
    ends = began + SECONDS
    longest = min(LONGEST_STATEMENT, max(_LEAST, (ends - time.monotonic()) / 2))

    def in_time(execute: Callable[..., Any], *statement: Any) -> Any:
        if time.monotonic() + longest > ends:
            raise TooLate("An interaction has taken too long.")
        return execute(*statement)

    milliseconds = str(int(longest * 1000))
    with transaction.atomic():
        with prepared() as cursor:
            cursor.execute(_TIMEOUTS, [milliseconds, milliseconds])
        with connection.execute_wrapper(in_time):
            yield
