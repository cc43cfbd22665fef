"""The length of the workers' queues. Each queue is a list in Redis with the oldest message at its end."""

from __future__ import annotations

import json
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from celery import current_app

PUBLISHED_AT = "published_at"  # Each message has this header, in Unix seconds.
BROKER_TIMEOUT = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Queue:
    """The state of a queue; `oldest_age` is the age of the oldest message in seconds, 0 if the queue is
    empty.
    """

    name: str
    messages: int
    oldest_age: float


def add_publication_time(headers: MutableMapping[str, Any], **_more: object) -> None:
    """Write the time into a message's headers; Celery itself does not."""
    headers[PUBLISHED_AT] = _now()


def names() -> list[str]:
    """Every queue to which our tasks are sent."""
    routed = {route["queue"] for route in current_app.conf.task_routes.values()}
    return sorted(routed | {current_app.conf.task_default_queue})


def measure() -> list[Queue]:
    """Return the state of all queues. Raises the errors of the broker's client, after a second if the broker
    hangs.
    """
    options = {
        **current_app.conf.broker_transport_options,
        "socket_connect_timeout": BROKER_TIMEOUT,
        "socket_timeout": BROKER_TIMEOUT,
        "max_retries": 0,
    }
    with current_app.connection_for_read(transport_options=options) as broker:
        redis: Any = broker.default_channel.client  # type: ignore[attr-defined]
        return [_queue(name, redis.llen(name), redis.lindex(name, -1)) for name in names()]


def _queue(name: str, messages: int, oldest: bytes | None) -> Queue:
    published_at = _published_at(oldest) if oldest else None
    return Queue(name, messages, max(0.0, _now() - published_at) if published_at else 0.0)


def _published_at(message: bytes) -> float | None:
    """The time in a message's headers, or None if another program sent it."""
    try:
        return float(json.loads(message)["headers"][PUBLISHED_AT])
    except (ValueError, TypeError, KeyError):
        return None


def _now() -> float:
    return time.time()
