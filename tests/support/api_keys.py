"""API keys created with an Idempotency-Key."""

from __future__ import annotations

from typing import Any

from communities.models import ApiKey
from tests.support.caller import Caller

NAME = "Made once"
ONE = "6a1f4f0e-8a53-4d0b-9f0e-0f1f0a7c9b11"


def make_key(caller: Caller, key: str = ONE, *, name: str = NAME) -> Any:
    """Create an API key through the API."""
    return caller.post("/api_keys", {"name": name}, **{"Idempotency-Key": key})


def count_keys(name: str = NAME) -> int:
    """The number of API keys with this name."""
    return ApiKey.objects.filter(name=name).count()


def outcome(response: Any) -> tuple[int, bytes, bool]:
    """Status, body, and whether the response is a stored one."""
    return response.status_code, response.content, "Idempotency-Replayed" in response
