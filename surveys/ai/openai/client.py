"""The client of chat completions, for OpenAI's API and compatible servers. Loads the SDK.

Servers support different parameters. Each client finds out and remembers two facts about its server:

- a JSON schema (`response_format`) that the server enforces, else "some JSON object", else nothing of that;
- the name of the limit of tokens, which newer models of OpenAI call by another one.

Some servers accept a schema and ignore it. So all servers but OpenAI's own get the schema in the prompt, too.
A JSON object is also found in the middle of a text. An answer of the wrong form is requested once more.
"""

from __future__ import annotations

import json
import logging
import re
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import httpx2
import openai

from surveys.ai.models.client import (
    Call,
    ModelClient,
    StreamedResponse,
    bounded_client,
    cut_off,
    declined,
    empty,
    token_count,
)
from surveys.ai.models.failures import (
    NO_MESSAGE,
    TIMED_OUT,
    UNREACHABLE,
    Failure,
    RequestFailed,
    failure_of_status,
    too_large,
)
from surveys.ai.models.json_values import JsonObject
from surveys.ai.models.prices import TokenUsage
from surveys.ai.models.request import ModelRequest, UnusableResponseError
from surveys.ai.provider import OPENAI

DEFAULT_BASE_URL = "https://api.openai.com/v1"
SCHEMA, OBJECT, TEXT = "json_schema", "json_object", "text"
FORMATS = (SCHEMA, OBJECT, TEXT)  # The formats, the most demanding for a server first.
LIMITS = ("max_tokens", "max_completion_tokens")
_NOT_UNDERSTOOD = frozenset({400, 415, 422, 501})  # The statuses of servers that do not support a parameter.
_TOO_LARGE = re.compile(r"context[ _](?:length|size|window)", re.IGNORECASE)
_THOUGHTS = re.compile(r"<(/?)think(?:ing)?>")
_NO_QUOTA = "insufficient_quota"

Result = TypeVar("Result")

# At DEBUG the SDK logs whole requests, with people's answers in them: no log level may cause that.
logging.getLogger("openai").setLevel(logging.WARNING)


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with every optional property required, and null allowed for it."""
    changed = dict(schema)
    if "anyOf" in schema:
        changed["anyOf"] = [strict(each) for each in schema["anyOf"]]
    if "items" in schema:
        changed["items"] = strict(schema["items"])
    if "properties" in schema:
        required = schema["required"]
        changed["properties"] = {
            name: strict(each) if name in required else {"anyOf": [strict(each), {"type": "null"}]}
            for name, each in schema["properties"].items()
        }
        changed["required"] = list(schema["properties"])
    return changed


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of requests that a server understands: one of FORMATS, and one of LIMITS."""

    format: str = SCHEMA
    limit: str = "max_tokens"


class ChatClient(ModelClient):
    """A client of the SDK. Without a key the client sends no key; without an address the client talks to
    OpenAI.
    """

    provider = OPENAI
    request_id_header = "x-request-id"
    errors = (openai.APIStatusError, openai.APIConnectionError, httpx2.TransportError)
    stop_reasons = frozenset({"stop", "length", "content_filter", "tool_calls", "function_call"})

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(pause=pause, clock=clock)
        self._is_openai = base_url is None
        self._dialect = Dialect(limit=LIMITS[1] if self._is_openai else LIMITS[0])
        self._client = openai.OpenAI(
            api_key=api_key or "none",
            admin_api_key="",
            organization="",
            project="",
            base_url=base_url or DEFAULT_BASE_URL,
            max_retries=0,  # The SDK's own retries would sleep through any Retry-After.
            http_client=bounded_client(openai.DefaultHttpxClient),
        )
        weakref.finalize(self, self._client.close)
        self._headers = {} if api_key else {"Authorization": openai.omit}
        # The client was created with empty texts, so that the SDK does not read OPENAI_ORG_ID and
        # OPENAI_PROJECT_ID.
        self._client.organization = self._client.project = None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(
        self, request: ModelRequest, parse: Callable[[JsonObject], Result], *, deadline: float
    ) -> Result:
        """Send a request, and send it a second time if the response has the wrong form. Raises
        ProviderError.
        """
        try:
            return super().send(request, parse, deadline=deadline)
        except UnusableResponseError as unusable:
            is_worth_it = unusable.outcome in ("misshaped", "empty") and request.may_retry
            if not is_worth_it or deadline - self._clock() < request.seconds / 3:
                raise
        return super().send(request, parse, deadline=deadline)

    @contextmanager
    def _open(self, request: ModelRequest, timeout: httpx2.Timeout) -> Iterator[StreamedResponse]:
        """Send a request in the dialect that worked before, or else in simpler dialects one after another."""
        dialect = self._dialect
        tried = {dialect}
        while True:
            try:
                manager = self._create(request, dialect, timeout)
                response = manager.__enter__()
                break
            except openai.APIStatusError as error:
                others = [each for each in _simpler(dialect, error) if each not in tried]
                if not others:
                    raise
                dialect = others[0]
                tried.add(dialect)
        self._dialect = dialect
        try:
            yield response
        finally:
            manager.__exit__(None, None, None)

    def _create(self, request: ModelRequest, dialect: Dialect, timeout: httpx2.Timeout) -> Any:
        body: dict[str, Any] = {
            "model": request.model,
            "messages": self._messages(request, dialect),
            dialect.limit: request.max_tokens,
            "extra_headers": self._headers,
            "timeout": timeout,
        }
        if dialect.format == SCHEMA:
            schema = {"name": request.purpose, "strict": True, "schema": strict(request.schema)}
            body["response_format"] = {"type": SCHEMA, "json_schema": schema}
        elif dialect.format == OBJECT:
            body["response_format"] = {"type": OBJECT}
        return self._client.chat.completions.with_streaming_response.create(**body)

    def _messages(self, request: ModelRequest, dialect: Dialect) -> list[dict[str, str]]:
        prompt = request.prompt
        instructions = [prompt.instructions, prompt.terms]
        if dialect.format != SCHEMA or not self._is_openai:
            instructions.insert(1, _schema_in_words(request.schema))
        return [
            {"role": "system", "content": "\n\n".join(instructions)},
            {"role": "user", "content": "\n".join(filter(None, (prompt.shared, prompt.data)))},
        ]

    def _failure_of(self, error: Exception) -> Failure:
        if not isinstance(error, openai.APIStatusError):
            is_timeout = isinstance(error, openai.APITimeoutError | httpx2.TimeoutException)
            return TIMED_OUT if is_timeout else UNREACHABLE
        if error.status_code in _NOT_UNDERSTOOD and _TOO_LARGE.search(_words_of(error)):
            raise too_large() from None
        # OpenAI sends 429 for an account without money too; waiting does not help there.
        status = 402 if error.code == _NO_QUOTA else error.status_code
        headers = error.response.headers
        return failure_of_status(status, headers, code=error.code, settings="OPENAI")

    def _text_of(self, message: JsonObject, call: Call) -> str:
        """Return the text of the JSON object, without the model's thoughts and without words around the
        object.
        """
        choices = message.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping) or not isinstance(choice.get("message"), Mapping):
            raise RequestFailed(NO_MESSAGE)
        call.usage = _usage_of(message.get("usage"))
        call.stop_reason = reason = str(choice.get("finish_reason"))
        written = choice["message"]
        if reason == "content_filter" or written.get("refusal"):
            raise declined()
        if reason == "length":
            raise cut_off()
        text = written.get("content")
        if not isinstance(text, str) or not (text := _without_thoughts(text).strip()):
            raise empty()
        begin, end = text.find("{"), text.rfind("}")
        return text[begin : end + 1] if 0 <= begin < end else text


def _without_thoughts(text: str) -> str:
    """Return the text without the thoughts of the model. Thoughts without an end mark remain."""
    kept: list[str] = []
    after, begin = 0, None
    for mark in _THOUGHTS.finditer(text):
        is_end = bool(mark[1])
        if begin is None and not is_end:
            begin = mark.start()
        elif begin is not None and is_end:
            kept.append(text[after:begin])
            after, begin = mark.end(), None
    return "".join([*kept, text[after:]])


def _simpler(dialect: Dialect, error: openai.APIStatusError) -> Iterator[Dialect]:
    """Yield the dialects to try next; none if the error does not say that the server lacks a parameter."""
    words = _words_of(error)
    if error.status_code not in _NOT_UNDERSTOOD or _TOO_LARGE.search(words):
        return
    if LIMITS[1] in words:  # The server asks for max_completion_tokens, or does not know that name.
        yield replace(dialect, limit=LIMITS[1 - LIMITS.index(dialect.limit)])
    for simpler in FORMATS[FORMATS.index(dialect.format) + 1 :]:
        yield replace(dialect, format=simpler)


def _words_of(error: openai.APIStatusError) -> str:
    """Return the words of an error message, for finding words in it. They are neither logged nor
    passed on.
    """
    return json.dumps(error.body, ensure_ascii=False, default=str) if error.body else ""


def _schema_in_words(schema: Mapping[str, object]) -> str:
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return (
        "Answer with one JSON object and nothing else: no other words, no code fence. "
        f"It must match this JSON schema:\n{text}"
    )


def _usage_of(usage: object) -> TokenUsage:
    """Return the usage. OpenAI counts cached tokens among the tokens of the prompt."""
    details = usage.get("prompt_tokens_details") if isinstance(usage, Mapping) else None
    cached = token_count(details, "cached_tokens")
    return TokenUsage(
        uncached=max(0, token_count(usage, "prompt_tokens") - cached),
        cache_reads=cached,
        output=token_count(usage, "completion_tokens"),
    )
