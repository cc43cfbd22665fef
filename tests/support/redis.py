"""A Redis that cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.test import override_settings

from communities.gate import throttling


@contextmanager
def without_redis() -> Iterator[None]:
    """Make Redis unreachable until the end of the block."""
    with override_settings(REDIS_URL="unix:///nowhere/redis.sock?db=0"):
        _start_anew()
        yield
    _start_anew()


def _start_anew() -> None:
    throttling.outage = throttling.Outage()
    throttling.counts_here = throttling.CountsHere()
