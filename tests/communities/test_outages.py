"""A running site that loses its servers: 503 without the database, no limits without Redis.

Rules 11.14 and 11.20.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api_requests import RATE_HEADERS
from tests.support.installation import Installation, installation

pytestmark = pytest.mark.long

__all__ = ["installation"]


def test_servers_that_go_away_and_come_back(installation: tuple[Installation, dict[str, Any]]) -> None:
    here, running = installation
    project = {"name": "Openings", "type": "convo"}
    status, headers, _, _ = here.ask()
    assert (status, headers["X-RateLimit-Remaining"]) == (200, "59")

    # No Redis: nobody waits, nobody is refused, and writes are still done once.
    running.pop("redis").stop()
    for _ in range(61):
        status, headers, _, seconds = here.ask()
        assert (status, headers["X-RateLimit-Limit"]) == (200, "60")
        assert seconds < 2
    first = here.ask("POST", project, **{"Idempotency-Key": "one"})
    again = here.ask("POST", project, **{"Idempotency-Key": "one"})
    assert (first[0], again[0], again[1]["Idempotency-Replayed"]) == (201, 201, "true")
    assert first[2]["id"] == again[2]["id"]

    # Neither: told at once, in the one shape.
    running.pop("postgres").stop()
    for method, body in (("GET", None), ("POST", project)):
        status, headers, told, seconds = here.ask(method, body, **{"X-Request-Id": "mine"})
        assert (status, told["error"]) == (503, "unavailable")
        assert set(told) == {"error", "message"}
        assert int(headers["Retry-After"]) >= 1
        assert headers["X-Request-Id"] == "mine"
        assert all(headers[name].isdigit() for name in RATE_HEADERS)
        assert seconds < 6

    # Both again: no restart of the web server is needed.
    running |= here.start("postgres", "redis")
    status, _, told, _ = here.ask()
    assert (status, told["pagination"]["total"]) == (200, 1)
    status, _, told, _ = here.ask("POST", project, **{"Idempotency-Key": "one"})
    assert (status, told["id"]) == (201, first[2]["id"])
