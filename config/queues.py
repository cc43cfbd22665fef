"""How long the worker's queues are: each is a list in Redis, the oldest message at its end."""

from __future__ import annotations

import json
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from celery import current_app

PUBLISHED_AT = "published_at"  # a header of each message, in Unix seconds
SECONDS_TO_WAIT_FOR_BROKER = 1.0


@dataclass(frozen=True, slots=True)
class Queue:
    """`seconds_of_oldest` is how long a message waits by now, 0 where none does."""

    name: str
    messages: int
    seconds_of_oldest: float


def say_when(headers: MutableMapping[str, Any], **_more: object) -> None:
    """Celery tells nobody how long a message waited."""
    headers[PUBLISHED_AT] = _now()


def names() -> list[str]:
    """Every queue that a task of ours may go to."""
    routed = {route["queue"] for route in current_app.conf.task_routes.values()}
    return sorted(routed | {current_app.conf.task_default_queue})


def waiting() -> list[Queue]:
    """All queues. What the broker's client raises comes out, after a second where the broker only hangs."""
    limits = {
        **current_app.conf.broker_transport_options,
        "socket_connect_timeout": SECONDS_TO_WAIT_FOR_BROKER,
        "socket_timeout": SECONDS_TO_WAIT_FOR_BROKER,
        "max_retries": 0,
    }
    with current_app.connection_for_read(transport_options=limits) as broker:
        redis: Any = broker.default_channel.client  # type: ignore[attr-defined]
        return [_queue(name, redis.llen(name), redis.lindex(name, -1)) for name in names()]


def _queue(name: str, messages: int, oldest: bytes | None) -> Queue:
    published_at = _published_at(oldest) if oldest else None
    return Queue(name, messages, max(0.0, _now() - published_at) if published_at else 0.0)


def _published_at(message: bytes) -> float | None:
    """None where somebody else sent it."""
    try:
        return float(json.loads(message)["headers"][PUBLISHED_AT])
    except (ValueError, TypeError, KeyError):
        return None


def _now() -> float:
    return time.time()
