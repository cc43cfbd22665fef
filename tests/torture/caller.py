"""An API client that repeats a request until it has the response, which Idempotency-Keys make safe."""

from __future__ import annotations

import itertools
import random
import time
import uuid
from collections.abc import Sequence
from typing import Any

import orjson

from tests.bench.client import Connection, Reply

SECONDS_TO_ANSWER = 90  # longer than any outage after a kill
MOST_SECONDS_TO_WAIT = 1.0  # shorter than Retry-After may ask, to keep up the load
SECONDS_BETWEEN_TRIES = 0.1


class NoResponse(Exception):
    """A request was neither done nor refused. The message is a sentence."""


class Caller:
    """The client of one thread, with several API keys so that the rate limit does not stop it."""

    def __init__(self, *, port: int, community_id: int, keys: Sequence[str], rng: random.Random) -> None:
        self._connection = Connection(port)
        self._root = f"/v1/communities/{community_id}"
        self._keys = itertools.cycle(keys)
        self._rng = rng

    def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and JSON of the final response. Raises NoResponse on a 500 or if there is none."""
        message = self._message(method, f"{self._root}{path}", body)
        until = time.monotonic() + SECONDS_TO_ANSWER
        last: object = None
        while time.monotonic() < until:
            try:
                reply = self._connection.send(message)
            except (OSError, EOFError) as failure:
                self._connection.close()
                last = failure
                time.sleep(SECONDS_BETWEEN_TRIES)
                continue
            if reply.status >= 500 and reply.status != 503:
                raise NoResponse(f"{method} {path} answered {reply.status}: {reply.body[:300]!r}.")
            if "retry-after" not in reply.headers:
                return reply.status, orjson.loads(reply.body) if reply.body else None
            last = reply.status
            time.sleep(_seconds_to_wait(reply))
        raise NoResponse(f"{method} {path} got no response in {SECONDS_TO_ANSWER} s, last result {last!r}.")

    def _message(self, method: str, path: str, body: object) -> bytes:
        content = b"" if body is None else orjson.dumps(body)
        headers = {
            "Host": "127.0.0.1",
            "X-API-Key": next(self._keys),
            "Idempotency-Key": str(uuid.UUID(int=self._rng.getrandbits(128), version=4)),
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
        }
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + content


def _seconds_to_wait(reply: Reply) -> float:
    return min(float(reply.headers["retry-after"]), MOST_SECONDS_TO_WAIT)
