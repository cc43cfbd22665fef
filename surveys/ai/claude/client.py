"""The client of the Anthropic API. Loads the SDK."""

from __future__ import annotations

import logging
import re
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anthropic
import httpx2
import structlog
from anthropic.types import OutputConfigParam, TextBlockParam

from surveys.ai.models import prices
from surveys.ai.models.client import (
    SECONDS_TO_CONNECT,
    Call,
    ModelClient,
    Result,
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
)
from surveys.ai.models.json_values import JsonObject, parse_object
from surveys.ai.models.prices import TokenUsage
from surveys.ai.models.request import ModelRequest, UnusableResponseError
from surveys.ai.provider import ANTHROPIC, BulkState

DEFAULT_BASE_URL = "https://api.anthropic.com"
# Sending a bulk may take this long, and so may reading its results, which are some megabytes.
SECONDS_FOR_A_BULK = 60.0
# Results of these types belong to requests that have ended.
_OVER = ("succeeded", "errored", "canceled", "expired")
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
log = structlog.get_logger("colloquy.ai")

# At DEBUG the SDK logs whole requests, with people's answers in them: no log level may cause that.
logging.getLogger("anthropic").setLevel(logging.WARNING)


class ProviderClient(ModelClient):
    """A client of the SDK."""

    provider = ANTHROPIC
    request_id_header = "request-id"
    errors = (anthropic.APIStatusError, anthropic.APIConnectionError, httpx2.TransportError)
    stop_reasons = frozenset(
        {
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "tool_use",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
        }
    )

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(pause=pause, clock=clock)
        # With a key given, the SDK ignores ANTHROPIC_AUTH_TOKEN and profiles on disk; with an address given,
        # an empty ANTHROPIC_BASE_URL is harmless.
        self._client = anthropic.Anthropic(
            api_key=api_key,
            base_url=base_url or DEFAULT_BASE_URL,
            max_retries=0,  # The SDK's own retries would sleep through any Retry-After.
            http_client=bounded_client(anthropic.DefaultHttpxClient),
            open_telemetry={"traces": {"content_mode": "metadata_only"}},
        )
        weakref.finalize(self, self._client.close)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _open(self, request: ModelRequest, timeout: httpx2.Timeout) -> Any:
        return self._client.messages.with_streaming_response.create(**_params(request), timeout=timeout)

    # --- Bulks: the message batches of the API

    def begin_bulk(self, requests: Sequence[ModelRequest]) -> str | None:
        body = {
            "requests": [{"custom_id": str(n), "params": _params(each)} for n, each in enumerate(requests)]
        }
        return _bulk_id(parse_object(self._bulk("POST", "", body=body)).get("id"))

    def look_at_bulk(self, bulk_id: str) -> BulkState:
        batch = parse_object(self._bulk("GET", f"/{_bulk_id(bulk_id)}"))
        counts = batch.get("request_counts")
        each = [token_count(counts, name) for name in ("processing", *_OVER)]
        return BulkState(batch.get("processing_status") == "ended", sum(each[1:]) / max(sum(each), 1))

    def end_bulk(
        self,
        bulk_id: str,
        parsers: Sequence[Callable[[JsonObject], Result]],
        *,
        model: str,
        purpose: str,
    ) -> list[Result | None]:
        found: list[Result | None] = [None] * len(parsers)
        for line in self._bulk("GET", f"/{_bulk_id(bulk_id)}/results").splitlines():
            entry = parse_object(line)
            place = str(entry.get("custom_id"))
            result = entry.get("result")
            if place.isdecimal() and int(place) < len(parsers) and isinstance(result, Mapping):
                found[int(place)] = self._bulk_result(result, parsers[int(place)], model, purpose)
        return found

    def cancel_bulk(self, bulk_id: str) -> None:
        self._bulk("POST", f"/{_bulk_id(bulk_id)}/cancel")

    def _bulk_result(
        self, result: JsonObject, parse: Callable[[JsonObject], Result], model: str, purpose: str
    ) -> Result | None:
        """Return the output of `parse` for a result, if the result is usable. A request that expired or was
        cancelled cost nothing.
        """
        call = Call(began_at=self._clock(), attempts=1)
        outcome = str(result.get("type"))
        message = result.get("message")
        if outcome != "succeeded" or not isinstance(message, Mapping):
            outcome = outcome if outcome in _OVER else "fault"
            self._record(call, outcome, None, model=model, purpose=purpose, in_bulk=True)
            return None
        outcome = "fault"
        try:
            parsed = parse(parse_object(self._text_of(message, call)))
            outcome = "answered"
            return parsed
        except UnusableResponseError as unusable:
            outcome = unusable.outcome
        except RequestFailed as failed:
            outcome = failed.failure.outcome
        finally:
            self._record(call, outcome, None, model=model, purpose=purpose, in_bulk=True)
        return None

    def _bulk(self, method: str, path: str, *, body: object = None) -> str:
        """Send a request about a bulk, and return the body of the response. We build the address of results
        ourselves, because the address that the API names may lead to another host.
        """
        address = f"/v1/messages/batches{path}"
        options: Any = {"timeout": httpx2.Timeout(SECONDS_FOR_A_BULK, connect=SECONDS_TO_CONNECT)}
        try:
            if method == "POST":
                response = self._client.post(
                    address, cast_to=httpx2.Response, body=body or {}, options=options
                )
            else:
                response = self._client.get(address, cast_to=httpx2.Response, options=options)
        except self.errors as error:
            failure = self._failure_of(error)
            log.warning(
                "ai.bulk_failed", provider=self.provider, outcome=failure.outcome, status=failure.status
            )
            raise failure.as_error() from None
        return response.text

    def _failure_of(self, error: Exception) -> Failure:
        if isinstance(error, anthropic.APIStatusError):
            headers = error.response.headers
            return failure_of_status(error.status_code, headers, code=error.error_code, settings="ANTHROPIC")
        is_timeout = isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException)
        return TIMED_OUT if is_timeout else UNREACHABLE

    def _text_of(self, message: JsonObject, call: Call) -> str:
        """The text without the model's thinking."""
        content = message.get("content")
        if message.get("type") != "message" or not isinstance(content, list):
            raise RequestFailed(NO_MESSAGE)
        usage = message.get("usage")
        call.usage = TokenUsage(
            uncached=token_count(usage, "input_tokens"),
            cache_writes=token_count(usage, "cache_creation_input_tokens"),
            cache_reads=token_count(usage, "cache_read_input_tokens"),
            output=token_count(usage, "output_tokens"),
        )
        call.stop_reason = reason = str(message.get("stop_reason"))
        if reason == "refusal":
            raise declined()
        if reason in ("max_tokens", "model_context_window_exceeded"):
            raise cut_off()
        parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
        if not text.strip():
            raise empty()
        return text


def _params(request: ModelRequest) -> dict[str, Any]:
    system, content = _blocks(request)
    return {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "system": system,
        "messages": [{"role": "user", "content": content}],
        "output_config": _output_config(request),
    }


def _bulk_id(raw: object) -> str:
    """The id of a bulk, which is a part of addresses. Raises ProviderError for anything else."""
    if not isinstance(raw, str) or not _ID.fullmatch(raw):
        raise NO_MESSAGE.as_error()
    return raw


def _blocks(request: ModelRequest) -> tuple[list[TextBlockParam], list[TextBlockParam]]:
    """Return the system prompt and the message of the user, with a mark up to which the API may cache both.

    The mark is at the end of the text that further requests repeat, if that text is as long as the model's
    cache demands.
    """
    prompt = request.prompt
    system: list[TextBlockParam] = [
        {"type": "text", "text": prompt.instructions},
        {"type": "text", "text": prompt.terms},
    ]
    content: list[TextBlockParam] = [{"type": "text", "text": prompt.data}]
    repeated, length = system[0], len(prompt.instructions)
    if prompt.shared:
        repeated = {"type": "text", "text": prompt.shared}
        content.insert(0, repeated)
        length += len(prompt.terms) + len(prompt.shared)
    if prices.can_cache(request.model, characters=length):
        repeated["cache_control"] = {"type": "ephemeral"}
    return system, content


def _output_config(request: ModelRequest) -> OutputConfigParam:
    config: OutputConfigParam = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    if prices.accepts_effort(request.model):
        config["effort"] = "medium" if request.effort == "medium" else "low"
    return config
