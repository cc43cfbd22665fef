"""Advisory locks of PostgreSQL: one worker at a time sends a partition.

The locks belong to the database session, so a worker that dies leaves no lock behind: no lease time is stored
and no claim is written. They must not be taken inside a transaction, and they never block a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import structlog
from django.db import Error, connection

from communities.ground.statements import prepared

log = structlog.get_logger("colloquy.webhooks")

LEASE_SECONDS = 60  # The longest silence of a lock's holder. An attempt is shorter.

# A process that is suspended, but not dead, loses its connection and its locks after the lease.
_LOCK = f"""
    SELECT pg_try_advisory_lock(hashtextextended(%s, 0))
        AND set_config('idle_session_timeout', '{LEASE_SECONDS}s', FALSE) IS NOT NULL
"""
_UNLOCK = """
    SELECT pg_advisory_unlock(hashtextextended(%s, 0))
        AND set_config('idle_session_timeout', '0', FALSE) IS NOT NULL
"""


class Busy(Exception):
    """Another worker has the lock, or this process has no thread to spare."""


@contextmanager
def partition_lock(webhook_id: int, partition: int) -> Iterator[None]:
    """Make this worker the only one that sends this partition. Raises Busy."""
    with _lock(f"webhook {webhook_id}, partition {partition}"):
        yield


@contextmanager
def failing_webhook_lock(webhook_id: int) -> Iterator[None]:
    """Make this worker the only one that tries a failing webhook, in any of its partitions. Raises Busy."""
    with _lock(f"webhook {webhook_id}, failing"):
        yield


@contextmanager
def _lock(name: str) -> Iterator[None]:
    if not _is_true(_LOCK, name):
        raise Busy
    try:
        yield
    finally:
        _unlock(name)


def _unlock(name: str) -> None:
    if connection.connection is None:
        return  # The connection was closed in between, which released the lock.
    with suppress(Error):
        if _is_true(_UNLOCK, name):
            return
        # A connection pooler is in between, or the connection was replaced.
        log.error("webhooks.lock_of_another_session")
    connection.close()  # Closing the connection releases the lock.


def _is_true(sql: str, name: str) -> bool:
    with prepared() as cursor:
        cursor.execute(sql, [name])
        [result] = cursor.fetchone()
    return bool(result)
