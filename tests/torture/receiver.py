"""Endpoints on this machine, each with its own behaviour and a record of what arrived."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
from standardwebhooks import Webhook, WebhookVerificationError

MAX_ARRIVALS_CHECKED = 200
ONE_IN = 8  # events whose first attempt a flaky endpoint refuses


@dataclass(frozen=True)
class Arrival:
    """An attempt as received. `error` says what is wrong with its signature."""

    event_id: str
    body: bytes
    at: float
    status: int
    error: str | None

    @property
    def happened_at(self) -> float:
        """The time in the body: to the second, or to the hour for anonymous responses."""
        return datetime.fromisoformat(orjson.loads(self.body)["timestamp"]).timestamp()


@dataclass
class Endpoint:
    """Answers 200 after some seconds. A flaky endpoint refuses the first attempt of some events."""

    name: str
    events: list[str]
    seconds: float = 0
    is_flaky: bool = False
    webhook_id: int = 0
    secret: str = ""
    arrivals: list[Arrival] = field(default_factory=list)
    _refused: set[str] = field(default_factory=set)

    def listens_to(self, type: str) -> bool:
        return "*" in self.events or type in self.events

    def take(self, headers: dict[str, str], body: bytes) -> int:
        """Record an attempt. Returns the status of the response."""
        time.sleep(self.seconds)
        event_id = headers.get("webhook-id", "")
        status = 500 if self._refuses(event_id) else 200
        self.arrivals.append(
            Arrival(event_id, body, time.time(), status, self._signature_error(headers, body))
        )
        return status

    def has_news_since(self, at: float) -> bool:
        """Whether an event that happened after a Unix time has arrived."""
        return any(arrival.happened_at > at for arrival in self.arrivals[-MAX_ARRIVALS_CHECKED:])

    def _refuses(self, event_id: str) -> bool:
        if not self.is_flaky or event_id in self._refused or uuid.UUID(event_id).int % ONE_IN:
            return False
        self._refused.add(event_id)
        return True

    def _signature_error(self, headers: dict[str, str], body: bytes) -> str | None:
        try:
            Webhook(self.secret).verify(body, headers)
        except (WebhookVerificationError, ValueError) as error:
            return str(error)
        return None


class Receiver:
    """Serves endpoints on a free port of 127.0.0.1, each at the path of its name."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        self._endpoints = {f"/{endpoint.name}": endpoint for endpoint in endpoints}
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, endpoint: Endpoint) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{endpoint.name}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoints = self._endpoints

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = self.rfile.read(length)
                if len(body) < length:  # the sender was killed
                    self.close_connection = True
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                status = endpoints[self.path].take(headers, body)
                # One write, because a second one would wait for the first to be acknowledged.
                self.wfile.write(f"HTTP/1.1 {status} Received\r\nContent-Length: 2\r\n\r\nok".encode())

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Ignore broken connections: workers are killed during requests."""
