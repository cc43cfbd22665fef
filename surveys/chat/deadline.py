"""Answers an interaction before the platform gives up, which is after three seconds.

Nothing that is done before the reply waits for the platform, a picture or AI: the worker does that. What is
left are Redis, whose client gives up after a second, and the database: here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection, transaction

from communities.ground.statements import prepared

SECONDS = 2.6  # for everything from the arrival of the interaction
LONGEST_STATEMENT = 1.2  # seconds, waiting for locks included
_LEAST = 0.05
_TIMEOUTS = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"


class TooLate(OperationalError):
    """There is no time left for another statement."""


@contextmanager
def bounded(*, began: float) -> Iterator[None]:
    """A transaction that ends in time: all statements of an interaction are in it. Raises OperationalError.

    Each statement is stopped after a while, and none begins that might not end in time. `began` is when the
    interaction arrived, by `time.monotonic`. What may be refused inside has a savepoint of its own.
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
