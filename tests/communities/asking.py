"""Requests to the interface as anybody might send them, over the whole stack of middleware."""

from __future__ import annotations

from itertools import count
from typing import Any

import orjson
from django.test import Client

from communities.http.authentication import caller_cache
from communities.models import ApiKey
from tests.support.caller import Caller

RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
_addresses = count(1)


def own_address() -> str:
    """An address that no other test asks from, so that nobody uses up another's limit."""
    number = next(_addresses)
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def ask(
    method: str,
    path: str,
    *,
    key: str | None = None,
    body: object = b"",
    address: str | None = None,
    content_type: str = "application/json",
    headers: dict[str, str] | None = None,
    **meta: Any,
) -> Any:
    """One request; `body` is sent as it is where it is bytes, else as JSON. Faults come back as responses."""
    given = headers or {}
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return Client(raise_request_exception=False).generic(
        method,
        path,
        raw,
        content_type,
        headers=given if key is None else {"X-API-Key": key, **given},
        REMOTE_ADDR=address or own_address(),
        **meta,
    )


def key_of(caller: Caller) -> ApiKey:
    """The row of a caller's key, as it is now."""
    return ApiKey.objects.get(community=caller.community, user=caller.user)


def later_by_the_memory() -> None:
    """As if the five seconds had passed for which a process remembers a key."""
    caller_cache.clear()
