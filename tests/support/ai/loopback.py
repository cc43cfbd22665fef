"""The parts of the APIs of models that we use: a real HTTP server on 127.0.0.1 with prepared responses.

    with Loopback() as anthropic:
        anthropic.queue({"blocks": []})                 # the next response, as JSON in a text block
        anthropic.queue(lambda body: {"texts": []})     # computed from the body of the request
        anthropic.queue_error(529, "overloaded_error")  # the one after that is an error
        ClaudeProvider(api_key="test", base_url=anthropic.url)
        anthropic.requests[0].body["model"]

If the queue is empty, it sends `default`, which at first is improvised (see `improvisation.py`). So it can
serve a whole installation:

    python -m tests.support.ai.loopback --port 9100 --delay 0.5
    ANTHROPIC_API_KEY=test ANTHROPIC_BASE_URL=http://127.0.0.1:9100 AI_PROVIDER=anthropic make run

`Loopback` speaks Anthropic's wire format, and `ChatLoopback` that of chat completions:

    python -m tests.support.ai.loopback --chat
    OPENAI_MODEL=any OPENAI_BASE_URL=http://127.0.0.1:9100/v1 AI_PROVIDER=openai make run
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
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support.ai.improvisation import improvise, schema_in
from tests.support.ai.request_rules import problems_with_chat, problems_with_request

Body = Mapping[str, Any]
Answer = Callable[[Body], object]

USAGE = {
    "input_tokens": 1_000,
    "output_tokens": 200,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "service_tier": "standard",
}
BAD_OUTCOMES = ("errored", "canceled", "expired")
_CONTENT_TYPE = {"content-type": "application/json"}


@dataclass(frozen=True)
class ReceivedRequest:
    """One request. The names of its `headers` are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def system(self) -> str:
        """The system prompt, as one text."""
        return "\n".join([_text_of(self.body.get("system", "")), *self._texts("system")]).strip()

    @property
    def prompt(self) -> str:
        """The messages of the user, as one text."""
        return "\n".join(self._texts("user"))

    @property
    def schema(self) -> dict[str, Any]:
        """The schema that the response must match."""
        return schema_in(self.body)

    def _texts(self, role: str) -> list[str]:
        messages = self.body["messages"]
        return [_text_of(message["content"]) for message in messages if message["role"] == role]


@dataclass(frozen=True)
class Reply:
    """A response. `how` is `whole`, `silence` (nothing is sent) or `cut_off` (ends in the middle)."""

    status: int = 200
    body: Callable[[Body], bytes] = lambda _body: b""
    headers: Mapping[str, str] = field(default_factory=dict)
    how: str = "whole"


class Loopback:
    """The server. It sends responses in the order in which they were queued, to any client."""

    path = "/v1/messages"
    usage: Mapping[str, Any] = USAGE

    def __init__(self, *, port: int = 0, delay: float = 0.0, counts_tokens: bool = False) -> None:
        self.default: Reply = self._json_reply(improvise)
        self.delay, self.counts_tokens = delay, counts_tokens
        self._lock = threading.Lock()
        self._requests: list[ReceivedRequest] = []
        self._queue: deque[Reply] = deque()
        self._released = threading.Event()
        self._concurrent = 0
        self.max_concurrent = 0
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
    def requests(self) -> Sequence[ReceivedRequest]:
        """All requests in order, including those that were refused."""
        with self._lock:
            return tuple(self._requests)

    @property
    def queued_count(self) -> int:
        """How many queued responses have not been sent yet."""
        with self._lock:
            return len(self._queue)

    # Responses

    def queue(self, *answers: object, **message: Any) -> None:
        """Queue responses: each answer, or what it returns for the request, as JSON in one text block.

        `message` holds other parts of the response, such as `stop_reason`, `usage` and `before` (earlier
        content blocks).
        """
        for answer in answers:
            self._add(self._json_reply(answer, **message))

    def queue_text(self, text: str, **message: Any) -> None:
        """Queue a response with exactly this text."""
        self._add(self._text_reply(lambda _body: text, **message))

    def queue_content(self, content: Sequence[Mapping[str, Any]], **message: Any) -> None:
        """Queue a response with these content blocks, which may be none."""
        self._add(Reply(body=lambda body: self._message(body, list(content), **message)))

    def queue_raw(self, raw: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Queue bytes instead of a message."""
        self._add(Reply(status, lambda _body: raw, headers or {}))

    def queue_error(
        self, status: int, type: str, message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Queue an error."""
        self._add(self._error_reply(status, type, message, headers or {}))

    def queue_silence(self) -> None:
        """Queue a silence that lasts until the server stops or `release` is called."""
        self._add(Reply(how="silence"))

    def queue_cut_off(self) -> None:
        """Queue a response that ends in the middle."""
        self._add(Reply(body=lambda body: self._message(body, self._content("{}")), how="cut_off"))

    def default_to(self, answer: object, **message: Any) -> None:
        """Send this answer if the queue is empty."""
        self.default = self._json_reply(answer, **message)

    def default_to_error(
        self, status: int, type: str, message: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send an error if the queue is empty."""
        self.default = self._error_reply(status, type, message, headers or {})

    def release(self) -> None:
        """End all silences, now and in the future."""
        self._released.set()

    # For the handler

    def reply_to(self, received: ReceivedRequest) -> Reply:
        """Store a request, and return the response to it."""
        with self._lock:
            if not self.counts_tokens:  # then it serves for long, and remembers nothing
                self._requests.append(received)
            if received.path != self.path:
                return self._error_reply(404, "not_found_error", f"There is no {received.path}.", {})
            if refusal := self._refusal_of(received):
                return refusal
            return self._queue.popleft() if self._queue else self.default

    def wait(self, reply: Reply) -> bool:
        """Wait as long as the response takes; return whether there is one at all."""
        if reply.how == "silence":
            self._released.wait()
            return False
        if self.delay:
            self._released.wait(self.delay)
        return True

    def begin(self) -> None:
        with self._lock:
            self._concurrent += 1
            self.max_concurrent = max(self.max_concurrent, self._concurrent)

    def end(self) -> None:
        with self._lock:
            self._concurrent -= 1

    def _add(self, reply: Reply) -> None:
        with self._lock:
            self._queue.append(reply)

    # The wire

    def _json_reply(self, answer: object, **message: Any) -> Reply:
        compute: Answer = answer if callable(answer) else lambda _body: answer
        return self._text_reply(lambda body: json.dumps(compute(body), ensure_ascii=False), **message)

    def _text_reply(
        self, text: Callable[[Body], str], *, before: Sequence[Any] = (), **message: Any
    ) -> Reply:
        return Reply(body=lambda body: self._message(body, [*before, *self._content(text(body))], **message))

    def _content(self, text: str) -> list[Any]:
        return [{"type": "text", "text": text}]

    def _message(self, body: Body, content: list[Any], **changes: Any) -> bytes:
        message = {
            "id": "msg_loopback",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {**self.usage, **self._counted(body, content), **changes.pop("usage", {})},
        }
        return json.dumps({**message, **changes}).encode()

    def _counted(self, body: Body, content: list[Any]) -> Mapping[str, int]:
        """Tokens of four characters each, if it counts them."""
        if not self.counts_tokens:
            return {}
        texts = {"input_tokens": [body["system"], body["messages"]], "output_tokens": content}
        return {name: len(json.dumps(text, ensure_ascii=False)) // 4 for name, text in texts.items()}

    def _error_reply(self, status: int, type: str, message: str, headers: Mapping[str, str]) -> Reply:
        error = {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_loopback"}
        return Reply(status, lambda _body: json.dumps(error).encode(), headers)

    def _refusal_of(self, received: ReceivedRequest) -> Reply | None:
        """Refuse what the real API would refuse."""
        bearer = received.headers.get("authorization", "").removeprefix("Bearer ")
        if not (received.headers.get("x-api-key") or bearer):
            return self._error_reply(401, "authentication_error", "There is no key.", {})
        if "anthropic-version" not in received.headers:
            return self._error_reply(
                400, "invalid_request_error", "anthropic-version: header is required", {}
            )
        if problems := problems_with_request(received.body):
            return self._error_reply(400, "invalid_request_error", " ".join(problems), {})
        return None


class BulkLoopback(Loopback):
    """The API with message batches. What it answers to each of their requests is queued as other responses.

    A batch is over once somebody has looked at it `looks` times. `outcomes` are those of single requests, by
    their numbers: `errored`, `canceled` or `expired`. If it is `lost`, it knows none of its batches.
    """

    def __init__(self, *, looks: int = 1, outcomes: Mapping[int, str] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.looks, self.outcomes, self.lost = looks, outcomes or {}, False
        self.batches: dict[str, list[dict[str, Any]]] = {}
        self.cancelled: list[str] = []
        self._looked: dict[str, int] = {}

    def reply_to(self, received: ReceivedRequest) -> Reply:
        path = received.path.removeprefix(f"{self.path}/batches")
        if path == received.path:
            return super().reply_to(received)
        with self._lock:
            self._requests.append(received)
        _, id, what = [*path.split("/"), "", ""][:3]
        if not id:
            return self._begun(received)
        if id not in self.batches or self.lost:
            return self._error_reply(404, "not_found_error", "There is no such batch.", {})
        if what == "cancel":
            self.cancelled.append(id)
        elif what == "results":
            return Reply(body=lambda _body: b"\n".join(self._results(id)))
        else:
            self._looked[id] += 1
        return Reply(body=lambda _body: json.dumps(self._batch(id)).encode())

    def _begun(self, received: ReceivedRequest) -> Reply:
        sent = received.body["requests"]
        problems = [problem for each in sent for problem in problems_with_request(each["params"])]
        if problems or len({each["custom_id"] for each in sent}) < len(sent):
            return self._error_reply(400, "invalid_request_error", " ".join(problems), {})
        id = f"msgbatch_{len(self.batches)}"
        self.batches[id], self._looked[id] = sent, 0
        return Reply(body=lambda _body: json.dumps(self._batch(id)).encode())

    def _batch(self, id: str) -> dict[str, Any]:
        sent, is_over = self.batches[id], self._looked[id] >= self.looks
        names = [self.outcomes.get(n, "succeeded") if is_over else "processing" for n in range(len(sent))]
        kinds = ("processing", "succeeded", *BAD_OUTCOMES)
        return {
            "id": id,
            "type": "message_batch",
            "processing_status": "ended" if is_over else "in_progress",
            "request_counts": {kind: names.count(kind) for kind in kinds},
            "results_url": "https://elsewhere.example/results" if is_over else None,
        }

    def _results(self, id: str) -> list[bytes]:
        """The lines of the results, the last request first."""
        lines = []
        for n, each in enumerate(self.batches[id]):
            result: dict[str, Any] = {"type": self.outcomes.get(n, "succeeded")}
            if result["type"] == "succeeded":
                with self._lock:
                    reply = self._queue.popleft() if self._queue else self.default
                result["message"] = json.loads(reply.body(each["params"]))
            lines.append(json.dumps({"custom_id": each["custom_id"], "result": result}).encode())
        return lines[::-1]


class ChatLoopback(Loopback):
    """A server of chat completions, as OpenAI's or one that is compatible with it.

    `formats` are the values of `response_format` that it supports. It refuses others, or ignores them if it
    `ignores_formats`. `limit` is the only name that it accepts for the limit of tokens.
    """

    path = "/v1/chat/completions"
    usage = {"prompt_tokens": 1_000, "completion_tokens": 200, "total_tokens": 1_200}

    def __init__(
        self,
        *,
        formats: Sequence[str] = ("json_schema", "json_object", "text"),
        ignores_formats: bool = False,
        needs_key: bool = True,
        limit: str = "max_tokens",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.formats, self.ignores_formats, self.needs_key, self.limit = (
            formats,
            ignores_formats,
            needs_key,
            limit,
        )

    @property
    def address(self) -> str:
        """The base URL for the SDK."""
        return f"{self.url}/v1"

    def _content(self, text: str) -> list[Any]:
        return [text]

    def _message(self, body: Body, content: list[Any], **changes: Any) -> bytes:
        """A completion. `changes` other than `refusal` and `usage` change its choice."""
        refusal, usage = changes.pop("refusal", None), changes.pop("usage", {})
        text = "".join(content) if content else None
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": refusal},
            "finish_reason": "stop",
        }
        completion = {
            "id": "chatcmpl-loopback",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{**choice, **changes}],
            "usage": {**self.usage, **usage},
        }
        return json.dumps(completion).encode()

    def _error_reply(self, status: int, type: str, message: str, headers: Mapping[str, str]) -> Reply:
        error = {"error": {"type": type, "message": message, "param": None, "code": type}}
        return Reply(status, lambda _body: json.dumps(error).encode(), headers)

    def _refusal_of(self, received: ReceivedRequest) -> Reply | None:
        if self.needs_key and not received.headers.get("authorization", "").removeprefix("Bearer "):
            return self._error_reply(401, "invalid_api_key", "There is no key.", {})
        formats = None if self.ignores_formats else self.formats
        if problems := problems_with_chat(received.body, formats=formats, limit=self.limit):
            return self._error_reply(400, "invalid_request_error", " ".join(problems), {})
        return None


# --- HTTP -------------------------------------------------------------------------------------------


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # so that twenty clients can connect at the same time

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have disconnected."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def _handler_for(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            loopback.begin()
            try:
                self._serve()
            finally:
                loopback.end()

        def _serve(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            received = ReceivedRequest(
                self.path.partition("?")[0],
                {name.lower(): value for name, value in self.headers.items()},
                json.loads(raw or b"{}"),
            )
            reply = loopback.reply_to(received)
            if not loopback.wait(reply):
                self.close_connection = True
                return
            body = reply.body(received.body)
            self.send_response(reply.status)
            for name, value in {
                "request-id": "req_loopback",
                "x-request-id": "req_loopback",
                **_CONTENT_TYPE,
                **reply.headers,
            }.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if reply.how == "cut_off":
                self.wfile.write(body[: len(body) // 2])
                self.close_connection = True
                with contextlib.suppress(OSError):
                    self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    return Handler


def _main() -> None:
    parser = argparse.ArgumentParser(description="An API of a model that improvises its responses.")
    parser.add_argument("--port", type=int, default=9100)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that each response takes")
    parser.add_argument("--overloaded", action="store_true", help="respond with 529 to every request")
    parser.add_argument("--counts-tokens", action="store_true", help="and forget what was asked")
    parser.add_argument("--chat", action="store_true", help="speak chat completions, without a key")
    arguments = parser.parse_args()
    kind = partial(ChatLoopback, needs_key=False) if arguments.chat else Loopback
    counts = arguments.counts_tokens
    with kind(port=arguments.port, delay=arguments.delay, counts_tokens=counts) as loopback:
        if arguments.overloaded:
            loopback.default_to_error(529, "overloaded_error", "Overloaded")
        address = (
            f"OPENAI_BASE_URL at {loopback.url}/v1"
            if arguments.chat
            else f"ANTHROPIC_BASE_URL at {loopback.url}"
        )
        sys.stdout.write(f"Point {address}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)


if __name__ == "__main__":
    _main()
