"""The Anthropic API as far as we use it: a real HTTP server on 127.0.0.1 that answers as it is told.

    with Loopback() as anthropic:
        anthropic.say({"blocks": []})                 # the next answer, as JSON in a text block
        anthropic.say(lambda body: {"texts": []})     # made from the request's body
        anthropic.fail(529, "overloaded_error")       # and the next is an error
        Claude(api_key="test", base_url=anthropic.url)
        anthropic.requests[0].body["model"]

If nothing is queued it calls `default`, which makes up an answer unless a test replaces it
(`tests/support/ai/improvisation.py`). A whole installation can therefore use it:

    python -m tests.support.ai.loopback --port 9100 --delay 0.5
    ANTHROPIC_API_KEY=test ANTHROPIC_BASE_URL=http://127.0.0.1:9100 AI_PROVIDER=anthropic make run
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support.ai.improvisation import improvise
from tests.support.ai.request_rules import faults_of_request

Body = Mapping[str, Any]
Says = Callable[[Body], object]

USAGE = {
    "input_tokens": 1_000,
    "output_tokens": 200,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "service_tier": "standard",
}
_CONTENT_TYPE = {"content-type": "application/json"}


@dataclass(frozen=True)
class Asked:
    """One request as it came in; the names of `headers` are lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def system(self) -> str:
        """The system prompt, as one text."""
        return _text_of(self.body.get("system", ""))

    @property
    def prompt(self) -> str:
        """What the user says, as one text."""
        return "\n".join(_text_of(message["content"]) for message in self.body["messages"])

    @property
    def schema(self) -> dict[str, Any]:
        """What the answer has to look like."""
        schema: dict[str, Any] = self.body["output_config"]["format"]["schema"]
        return schema


@dataclass(frozen=True)
class Reply:
    """What is sent back. `how` is `whole`, `hang` (says nothing) or `drop` (breaks off in its middle)."""

    status: int = 200
    body: Callable[[Body], bytes] = lambda _body: b""
    headers: Mapping[str, str] = field(default_factory=dict)
    how: str = "whole"


class Loopback:
    """The server. Answers in the order in which they were queued, whoever asks."""

    def __init__(self, *, port: int = 0, delay: float = 0.0) -> None:
        self.default: Reply = _saying(improvise)
        self.delay = delay
        self._lock = threading.Lock()
        self._requests: list[Asked] = []
        self._queue: deque[Reply] = deque()
        self._released = threading.Event()
        self._at_once = 0
        self.most_at_once = 0
        self._server = _Server(("127.0.0.1", port), _handler_for(self))

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def requests(self) -> Sequence[Asked]:
        """What came in, in this order, the refused included."""
        with self._lock:
            return tuple(self._requests)

    @property
    def unsaid(self) -> int:
        """How many queued answers nobody has asked for."""
        with self._lock:
            return len(self._queue)

    # What it answers

    def say(self, *answers: object, **message: Any) -> None:
        """Queue answers: what is given, or what is made of the request, as JSON in one text block.

        `message` are other parts of it, as `stop_reason`, `usage` and `before` (earlier content blocks).
        """
        for answer in answers:
            self._add(_saying(answer, **message))

    def say_text(self, text: str, **message: Any) -> None:
        """Queue an answer of this very text."""
        self._add(_saying_text(lambda _body: text, **message))

    def say_content(self, content: Sequence[Mapping[str, Any]], **message: Any) -> None:
        """Queue an answer of these content blocks, perhaps none."""
        self._add(Reply(body=lambda body: _message(body, list(content), **message)))

    def say_raw(self, raw: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Queue bytes in place of a message."""
        self._add(Reply(status, lambda _body: raw, headers or {}))

    def fail(
        self, status: int, type: str, message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Queue an error."""
        self._add(_failing(status, type, message, headers or {}))

    def hang(self) -> None:
        """Queue a silence, until the server ends or `release` is called."""
        self._add(Reply(how="hang"))

    def drop(self) -> None:
        """Queue an answer that breaks off in its middle."""
        self._add(Reply(body=lambda body: _message(body, _texts("{}")), how="drop"))

    def always(self, answer: object, **message: Any) -> None:
        """Answer so where nothing is queued."""
        self.default = _saying(answer, **message)

    def always_fail(
        self, status: int, type: str, message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer with an error where nothing is queued."""
        self.default = _failing(status, type, message, headers or {})

    def release(self) -> None:
        """Let go of all that hangs, now and later."""
        self._released.set()

    # For the handler

    def reply_to(self, asked: Asked) -> Reply:
        """Note a request; what to answer."""
        with self._lock:
            self._requests.append(asked)
            if asked.path != "/v1/messages":
                return _failing(404, "not_found_error", f"There is no {asked.path}.", {})
            if refusal := _refusal_of(asked):
                return refusal
            return self._queue.popleft() if self._queue else self.default

    def wait(self, reply: Reply) -> bool:
        """Take the time that the answer takes; whether there is one at all."""
        if reply.how == "hang":
            self._released.wait()
            return False
        if self.delay:
            self._released.wait(self.delay)
        return True

    def begin(self) -> None:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)

    def end(self) -> None:
        with self._lock:
            self._at_once -= 1

    def _add(self, reply: Reply) -> None:
        with self._lock:
            self._queue.append(reply)


# --- The wire ---------------------------------------------------------------------------------------


def _saying(answer: object, **message: Any) -> Reply:
    says: Says = answer if callable(answer) else lambda _body: answer
    return _saying_text(lambda body: json.dumps(says(body), ensure_ascii=False), **message)


def _saying_text(text: Callable[[Body], str], *, before: Sequence[Any] = (), **message: Any) -> Reply:
    return Reply(body=lambda body: _message(body, [*before, *_texts(text(body))], **message))


def _texts(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def _message(body: Body, content: list[Any], **changes: Any) -> bytes:
    message = {
        "id": "msg_loopback",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {**USAGE, **changes.pop("usage", {})},
    }
    return json.dumps({**message, **changes}).encode()


def _failing(status: int, type: str, message: str, headers: Mapping[str, str]) -> Reply:
    error = {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_loopback"}
    return Reply(status, lambda _body: json.dumps(error).encode(), headers)


def _refusal_of(asked: Asked) -> Reply | None:
    """What the real one would not take either."""
    key = asked.headers.get("x-api-key") or asked.headers.get("authorization", "").removeprefix("Bearer ")
    if not key:
        return _failing(401, "authentication_error", "There is no key.", {})
    if "anthropic-version" not in asked.headers:
        return _failing(400, "invalid_request_error", "anthropic-version: header is required", {})
    if faults := faults_of_request(asked.body):
        return _failing(400, "invalid_request_error", " ".join(faults), {})
    return None


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # so that twenty at one time are let in at once

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that went away are not worth a word."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def _handler_for(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            loopback.begin()
            try:
                self._serve()
            finally:
                loopback.end()

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            asked = Asked(
                self.path.partition("?")[0],
                {name.lower(): value for name, value in self.headers.items()},
                json.loads(raw or b"{}"),
            )
            reply = loopback.reply_to(asked)
            if not loopback.wait(reply):
                self.close_connection = True
                return
            body = reply.body(asked.body)
            self.send_response(reply.status)
            for name, value in {"request-id": "req_loopback", **_CONTENT_TYPE, **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if reply.how == "drop":
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
                with contextlib.suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: tests are silent."""

    return Handler


def _main() -> None:
    told = argparse.ArgumentParser(description="An Anthropic API that makes its answers up.")
    told.add_argument("--port", type=int, default=9100)
    told.add_argument("--delay", type=float, default=0.0, help="seconds that each answer takes")
    told.add_argument("--overloaded", action="store_true", help="answer 529 to everything")
    arguments = told.parse_args()
    with Loopback(port=arguments.port, delay=arguments.delay) as loopback:
        if arguments.overloaded:
            loopback.always_fail(529, "overloaded_error", "Overloaded")
        sys.stdout.write(f"Point ANTHROPIC_BASE_URL at {loopback.url}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)


if __name__ == "__main__":
    _main()
