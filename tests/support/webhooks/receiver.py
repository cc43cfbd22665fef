r"""An endpoint for webhooks: a real HTTP server on 127.0.0.1 with scripted responses.

In a test it is a context manager (`Receiver`). As a process, `python -m tests.support.webhooks.receiver LOG`
reads the responses for each path as JSON from standard input, prints its port as one line, and appends each
request to the file LOG as a line of JSON:

    echo '{"/slow": [{"delay": 2}], "/": [{"status": 500}, {}]}' \
        | python -m tests.support.webhooks.receiver log
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SECONDS_TO_WAIT = 60.0


@dataclass(frozen=True)
class ScriptedResponse:
    """A response. `delay` is in seconds. With `hangs` it waits for `release`, or the end."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    delay: float = 0.0
    hangs: bool = False


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as received. Header names are in lower case; `at` is a Unix time in seconds."""

    path: str
    headers: Mapping[str, str]
    body: str
    at: float

    @property
    def event(self) -> dict[str, Any]:
        """The parsed body."""
        event: dict[str, Any] = json.loads(self.body)
        return event


class Receiver:
    """The server. Each path sends its scripted responses and repeats the last. The default is 200."""

    def __init__(self, *, port: int = 0, log: Path | None = None) -> None:
        self._changed = threading.Condition()
        self._requests: list[ReceivedRequest] = []
        self._scripts: dict[str, list[ScriptedResponse]] = defaultdict(list)
        self._released = threading.Event()
        self._log = log and log.open("a")
        self._server = _Server(("127.0.0.1", port), _handler_for(self))

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._server.close_connections()
        if self._log:
            self._log.close()

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def connections(self) -> int:
        """The number of connections so far."""
        return self._server.connections

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def script(self, path: str, *responses: ScriptedResponse) -> str:
        """Set the responses of a path. Returns its URL."""
        with self._changed:
            self._scripts[path] = list(responses)
        return self.url(path)

    def release(self) -> None:
        """Respond to every request that hangs, now and later."""
        self._released.set()

    def requests(self, path: str | None = None) -> list[ReceivedRequest]:
        """The requests to a path, or to all paths, in the order received."""
        with self._changed:
            return [request for request in self._requests if path in (None, request.path)]

    def wait_for(
        self, count: int, path: str | None = None, *, seconds: float = SECONDS_TO_WAIT
    ) -> list[ReceivedRequest]:
        """Wait for a number of requests, and return them all. Fails if they do not arrive in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests(path)) >= count, timeout=seconds):
                raise AssertionError(f"{len(self.requests(path))} requests arrived, expected {count}.")
            return self.requests(path)

    # For the handler

    def response_to(self, request: ReceivedRequest) -> ScriptedResponse:
        """Record a request. Returns the scripted response."""
        with self._changed:
            script = self._scripts[request.path]
            response = script[0] if script else ScriptedResponse()
            if len(script) > 1:
                del script[0]
            self._requests.append(request)
            if self._log:
                self._log.write(json.dumps(asdict(request)) + "\n")
                self._log.flush()
            self._changed.notify_all()
        return response

    def delay(self, response: ScriptedResponse) -> None:
        if response.hangs:
            self._released.wait()
        elif response.delay:
            self._released.wait(response.delay)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: Callable[..., BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._open: set[socket.socket] = set()
        self.connections = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        self.connections += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Close the connections that are kept alive, which ends their threads."""
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do not report a client that closed its connection."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _handler_for(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = ReceivedRequest(self.path, headers, body.decode(), time.time())
            response = receiver.response_to(request)
            receiver.delay(response)
            content = response.body.encode()
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def main(log: str, port: str = "0") -> None:
    scripts = json.loads(sys.stdin.read() or "{}")
    with Receiver(port=int(port), log=Path(log)) as receiver:
        for path, responses in scripts.items():
            receiver.script(path, *(ScriptedResponse(**response) for response in responses))
        sys.stdout.write(f"{receiver.port}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
