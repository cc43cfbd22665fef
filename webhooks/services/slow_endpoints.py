"""Limits to the threads that a community, and dead and slow endpoints, occupy. With these limits, other
deliveries are not delayed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cachetools import LRUCache
from django.conf import settings

from communities.ground.slots import Slots
from webhooks.services.locks import Busy

SLOW_SECONDS = 1.0  # A longer attempt marks its endpoint as slow.
# At most this many webhooks are remembered; the webhook that was marked first is forgotten first.
MAX_REMEMBERED = 10_000
THREADS = settings.WEBHOOKS_THREADS

# A community gets a quarter of the threads of this process, because nobody knows yet how slow a new endpoint
# is. Failing and slow endpoints share half of all threads, and half of the threads of their community.
_threads = Slots(THREADS, most_of_one=max(1, THREADS // 4))
_slow_threads = Slots(max(1, THREADS // 2), most_of_one=max(1, THREADS // 8))
_slow_webhooks: LRUCache[int, None] = LRUCache(MAX_REMEMBERED)
_lock = threading.Lock()


@contextmanager
def thread_for(community_id: int) -> Iterator[None]:
    """Occupy one of the threads of a community. Raises Busy if none is free."""
    with _one_of(_threads, community_id):
        yield


@contextmanager
def thread_for_slow_endpoints(community_id: int) -> Iterator[None]:
    """Occupy one of the threads that failing and slow endpoints share. Raises Busy if none is free."""
    with _one_of(_slow_threads, community_id):
        yield


@contextmanager
def _one_of(threads: Slots, community_id: int) -> Iterator[None]:
    if not threads.acquire(str(community_id), timeout=0):
        raise Busy
    try:
        yield
    finally:
        threads.release(str(community_id))


def note_duration(webhook_id: int, *, seconds: float) -> None:
    """Store whether the last attempt of this process was slow."""
    with _lock:
        if seconds > SLOW_SECONDS:
            _slow_webhooks[webhook_id] = None
        else:
            _slow_webhooks.pop(webhook_id, None)


def is_slow(webhook_id: int) -> bool:
    with _lock:
        return webhook_id in _slow_webhooks
