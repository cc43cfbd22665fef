"""Requests to the interface through all middleware, as any client might send them."""

from __future__ import annotations

from itertools import count
from typing import Any

import orjson
from django.test import Client

from communities.gate.authentication import caller_cache
from communities.models import ApiKey
from tests.support.caller import Caller

RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
_addresses = count(1)


def new_address() -> str:
    """Return an address that no other test uses, so tests do not share limits."""
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
    """Send one request. A body of bytes is sent as it is, others as JSON. Exceptions become responses."""
    sent_headers = headers or {}
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return Client(raise_request_exception=False, enforce_csrf_checks=True).generic(
        method,
        path,
        raw,
        content_type,
        headers=sent_headers if key is None else {"X-API-Key": key, **sent_headers},
        REMOTE_ADDR=address or new_address(),
        **meta,
    )


def key_of(caller: Caller) -> ApiKey:
    """Load the row of a caller's key."""
    return ApiKey.objects.get(community=caller.community, user=caller.user)


def clear_caller_cache() -> None:
    """Forget all cached callers, as if their five seconds had passed."""
    caller_cache.clear()
