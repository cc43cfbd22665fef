"""An endpoint that webhooks are sent to: a real HTTP server on 127.0.0.1 that answers as it is told.

In a test it is a context manager (`Receiver`). As a process of its own, `python -m tests.webhooks.receiving`
takes the answers as JSON by path on standard input, says its port in one line on standard output, and writes
each request as a line of JSON into a file:

    echo '{"/slow": [{"delay": 2}], "/": [{"status": 500}, {}]}' | python -m tests.webhooks.receiving heard
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
class Scripted:
    """One answer. `delay` is in seconds; `hangs` says nothing until the receiver ends or releases it."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    delay: float = 0.0
    hangs: bool = False


@dataclass(frozen=True)
class Heard:
    """One request as it came in; the names of `headers` are lower case, `at` is seconds since 1970."""

    path: str
    headers: Mapping[str, str]
    body: str
    at: float

    @property
    def event(self) -> dict[str, Any]:
        """The body, read."""
        event: dict[str, Any] = json.loads(self.body)
        return event


class Receiver:
    """The endpoint. Each path answers by its script, whose last answer repeats; else 200 with no body."""

    def __init__(self, *, port: int = 0, log: Path | None = None) -> None:
        self._changed = threading.Condition()
        self._heard: list[Heard] = []
        self._scripts: dict[str, list[Scripted]] = defaultdict(list)
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
        self._server.hang_up()
        if self._log:
            self._log.close()

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def connections(self) -> int:
        """How many there have been."""
        return self._server.connections

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def script(self, path: str, *answers: Scripted) -> str:
        """Answer a path so from now on; its URL."""
        with self._changed:
            self._scripts[path] = list(answers)
        return self.url(path)

    def release(self) -> None:
        """Let go of all that hangs, now and later."""
        self._released.set()

    def heard(self, path: str | None = None) -> list[Heard]:
        """What came in at a path, or at all, in this order."""
        with self._changed:
            return [each for each in self._heard if path in (None, each.path)]

    def wait_for(
        self, count: int, path: str | None = None, *, seconds: float = SECONDS_TO_WAIT
    ) -> list[Heard]:
        """What came in once there are so many; fails when they do not come in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.heard(path)) >= count, timeout=seconds):
                raise AssertionError(f"{len(self.heard(path))} requests came in, and not {count}.")
            return self.heard(path)

    # For the handler

    def answer_to(self, heard: Heard) -> Scripted:
        """Note a request; what to answer."""
        with self._changed:
            script = self._scripts[heard.path]
            answer = script[0] if script else Scripted()
            if len(script) > 1:
                del script[0]
            self._heard.append(heard)
            if self._log:
                self._log.write(json.dumps(asdict(heard)) + "\n")
                self._log.flush()
            self._changed.notify_all()
        return answer

    def wait_as_told(self, answer: Scripted) -> None:
        if answer.hangs:
            self._released.wait()
        elif answer.delay:
            self._released.wait(answer.delay)


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

    def hang_up(self) -> None:
        """End the connections that are kept alive, with the threads that serve them."""
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hung up is nothing to speak of."""
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
            answer = receiver.answer_to(Heard(self.path, headers, body.decode(), time.time()))
            receiver.wait_as_told(answer)
            content = answer.body.encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
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
        for path, answers in scripts.items():
            receiver.script(path, *(Scripted(**answer) for answer in answers))
        sys.stdout.write(f"{receiver.port}\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
