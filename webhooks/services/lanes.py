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

# However many endpoints are dead, this process has threads left for those that answer.
_for_failing = threading.BoundedSemaphore(max(1, settings.WEBHOOKS_THREADS // 2))


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
    if not _for_failing.acquire(blocking=False):
        raise Taken
    try:
        with _lock(f"webhook {webhook_id}, failing"):
            yield
    finally:
        _for_failing.release()


@contextmanager
def _lock(name: str) -> Iterator[None]:
    if not _said("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", name):
        raise Taken
    try:
        yield
    finally:
        _unlock(name)


def _unlock(name: str) -> None:
    with suppress(Error):
        if _said("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name):
            return
        # A pooler stands between, or the connection was replaced.
        log.error("webhooks.lock_of_another_session")
    connection.close()  # and the lock ends with it


def _said(sql: str, name: str) -> bool:
    with prepared() as cursor:
        cursor.execute(sql, [name])
        [answer] = cursor.fetchone()
    return bool(answer)
