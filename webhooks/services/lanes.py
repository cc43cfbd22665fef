"""One worker at a time in a lane: locks of the database, which end with the connection of whoever holds them.

No time is stored and no claim is written: a worker that dies leaves nothing behind. They are locks of the
session, so they are never taken inside a transaction, and stand in no row's way.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import structlog
from django.conf import settings
from django.db import Error, connection

from communities.statements import prepared

log = structlog.get_logger("colloquy.webhooks")

SECONDS_OF_SLOW = 1.0
SECONDS_OF_A_LEASE = 60  # without a word from who holds a lock; an attempt is shorter

# A process that is stopped, though not dead, loses its connection after the lease, and so its locks.
_TAKE = f"""
    SELECT pg_try_advisory_lock(hashtextextended(%s, 0))
        AND set_config('idle_session_timeout', '{SECONDS_OF_A_LEASE}s', FALSE) IS NOT NULL
"""
_GIVE_BACK = """
    SELECT pg_advisory_unlock(hashtextextended(%s, 0))
        AND set_config('idle_session_timeout', '0', FALSE) IS NOT NULL
"""

# However many endpoints are dead or slow, this process has threads left for those that answer.
_share = threading.BoundedSemaphore(max(1, settings.WEBHOOKS_THREADS // 2))
_slow: set[int] = set()


class Taken(Exception):
    """Somebody else is at it."""


@contextmanager
def hold(webhook_id: int, lane: int) -> Iterator[None]:
    """Be the only one who works in a lane. Raises Taken."""
    with _lock(f"webhook {webhook_id}, lane {lane}"):
        yield


@contextmanager
def hold_failing(webhook_id: int) -> Iterator[None]:
    """Be the only one who tries a webhook that is failing, whatever the lane. Raises Taken."""
    with _lock(f"webhook {webhook_id}, failing"):
        yield


@contextmanager
def hold_share() -> Iterator[None]:
    """Be one of the threads that this process has for endpoints that fail or are slow. Raises Taken."""
    if not _share.acquire(blocking=False):
        raise Taken
    try:
        yield
    finally:
        _share.release()


def note_pace(webhook_id: int, *, seconds: float) -> None:
    """Keep in mind how long the last attempt of this process took."""
    (_slow.add if seconds > SECONDS_OF_SLOW else _slow.discard)(webhook_id)


def is_slow(webhook_id: int) -> bool:
    return webhook_id in _slow


@contextmanager
def _lock(name: str) -> Iterator[None]:
    if not _said(_TAKE, name):
        raise Taken
    try:
        yield
    finally:
        _unlock(name)


def _unlock(name: str) -> None:
    if connection.connection is None:
        return  # it was closed since, and the lock ended with it
    with suppress(Error):
        if _said(_GIVE_BACK, name):
            return
        # A pooler stands between, or the connection was replaced.
        log.error("webhooks.lock_of_another_session")
    connection.close()  # and the lock ends with it


def _said(sql: str, name: str) -> bool:
    with prepared() as cursor:
        cursor.execute(sql, [name])
        [answer] = cursor.fetchone()
    return bool(answer)
