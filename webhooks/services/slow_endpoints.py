"""A limit to the threads that dead and slow endpoints occupy, so that others are not delayed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cachetools import LRUCache
from django.conf import settings

from webhooks.services.locks import Busy

SLOW_SECONDS = 1.0  # an attempt that takes longer marks its endpoint as slow
MAX_REMEMBERED = 10_000  # webhooks; the one that was marked first is forgotten first

# Half of the threads of this process; the rest serve endpoints that answer quickly.
_threads = threading.BoundedSemaphore(max(1, settings.WEBHOOKS_THREADS // 2))
_slow_webhooks: LRUCache[int, None] = LRUCache(MAX_REMEMBERED)
_lock = threading.Lock()


@contextmanager
def thread_for_slow_endpoints() -> Iterator[None]:
    """Occupy one of the threads that failing and slow endpoints share. Raises Busy if none is free."""
    if not _threads.acquire(blocking=False):
        raise Busy
    try:
        yield
    finally:
        _threads.release()


def note_duration(webhook_id: int, *, seconds: float) -> None:
    """Remember whether the last attempt of this process was slow."""
    with _lock:
        if seconds > SLOW_SECONDS:
            _slow_webhooks[webhook_id] = None
        else:
            _slow_webhooks.pop(webhook_id, None)


def is_slow(webhook_id: int) -> bool:
    with _lock:
        return webhook_id in _slow_webhooks
