"""A caller of the interface who asks until the answer is known, as one with Idempotency-Keys may."""

from __future__ import annotations

import itertools
import random
import time
import uuid
from collections.abc import Sequence
from typing import Any

import orjson

from tests.bench.client import Connection, Reply

SECONDS_TO_ANSWER = 90  # through any kill
MOST_SECONDS_TO_WAIT = 1.0  # a caller may be less patient than Retry-After asks
SECONDS_BETWEEN_TRIES = 0.1


class NoAnswer(Exception):
    """Neither done nor refused; the message is a sentence."""


class Caller:
    """One thread's, with API keys of its own, so that the rate limit lets it through."""

    def __init__(self, *, port: int, community_id: int, keys: Sequence[str], chance: random.Random) -> None:
        self._connection = Connection(port)
        self._root = f"/v1/communities/{community_id}"
        self._keys = itertools.cycle(keys)
        self._chance = chance

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and JSON of the answer, which is neither of a fault nor to try again later."""
        request = self._request(method, f"{self._root}{path}", body)
        until = time.monotonic() + SECONDS_TO_ANSWER
        last: object = None
        while time.monotonic() < until:
            try:
                reply = self._connection.send(request)
            except (OSError, EOFError) as failure:
                self._connection.close()
                last = failure
                time.sleep(SECONDS_BETWEEN_TRIES)
                continue
            if reply.status >= 500 and reply.status != 503:
                raise NoAnswer(f"{method} {path} answered {reply.status}: {reply.body[:300]!r}.")
            if "retry-after" not in reply.headers:
                return reply.status, orjson.loads(reply.body) if reply.body else None
            last = reply.status
            time.sleep(_seconds_to_wait(reply))
        raise NoAnswer(f"{method} {path} was not answered in {SECONDS_TO_ANSWER} s, at last by {last!r}.")

    def _request(self, method: str, path: str, body: object) -> bytes:
        content = b"" if body is None else orjson.dumps(body)
        headers = {
            "Host": "127.0.0.1",
            "X-API-Key": next(self._keys),
            "Idempotency-Key": str(uuid.UUID(int=self._chance.getrandbits(128), version=4)),
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
        }
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + content


def _seconds_to_wait(reply: Reply) -> float:
    return min(float(reply.headers["retry-after"]), MOST_SECONDS_TO_WAIT)
