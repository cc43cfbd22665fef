"""The Redis connection for data that a request waits for: limits, and the versions of keys."""

from __future__ import annotations

from functools import cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT = 1.0  # seconds


def client() -> redis.Redis:
    """Return this process's client, whose attempts fail with RedisError after `TIMEOUT`."""
    return _client_of(settings.REDIS_URL)


@cache
def _client_of(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_connect_timeout=TIMEOUT,
        socket_timeout=TIMEOUT,
        # There is one immediate retry, because the server may have closed an idle connection.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )
