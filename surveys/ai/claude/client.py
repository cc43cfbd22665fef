"""The client of the Anthropic API: one request with its retries, and one line in the log. Loads the SDK.

Neither the log nor the message of an error contains a key, or anything of what was sent or received.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import anthropic
import httpx2
import structlog
from anthropic.types import OutputConfigParam, TextBlockParam

from surveys.ai.claude import prices
from surveys.ai.claude.failures import Failure, RequestFailed, failure_of
from surveys.ai.claude.identifiers import safe_identifier
from surveys.ai.claude.json_values import JsonObject, parse_object
from surveys.ai.claude.prices import TokenUsage
from surveys.ai.claude.request import ModelRequest, UnusableResponseError
from surveys.ai.provider import ANTHROPIC

DEFAULT_BASE_URL = "https://api.anthropic.com"
PAUSES = (0.5, 2.0)  # seconds before the second and the third attempt
MAX_PAUSE = 8.0
MAX_RESPONSE_BYTES = 2_000_000
SECONDS_TO_CONNECT = 5.0
_MIN_SHARE_OF_TIME = 1 / 3  # of a request's seconds: with less time left, another attempt would be in vain
_STOP_REASONS = frozenset(
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

Result = TypeVar("Result")
log = structlog.get_logger("colloquy.ai")

# At DEBUG the SDK logs whole requests, with people's answers in them: no log level may cause that. httpx2
# logs a line for each request, which says less than ours.
for _name in ("anthropic", "httpx2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(slots=True)
class _Call:
    """What the log will say about a request."""

    began_at: float
    attempts: int = 0
    request_id: str | None = None
    stop_reason: str | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)


class ProviderClient:
    """A client of the SDK. All threads share it and its connections; its `httpx2.Client` is thread-safe.

    `pause` sleeps for a number of seconds, and `clock` returns monotonic seconds.
    """

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pause, self._clock = pause, clock
        # With a key given, the SDK ignores ANTHROPIC_AUTH_TOKEN and profiles on disk; with an address given,
        # an empty ANTHROPIC_BASE_URL is harmless.
        self._client = anthropic.Anthropic(
            api_key=api_key,
            base_url=base_url or DEFAULT_BASE_URL,
            max_retries=0,  # its own retries would sleep through any Retry-After
            open_telemetry={"traces": {"content_mode": "metadata_only"}},
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(
        self, request: ModelRequest, parse: Callable[[JsonObject], Result], *, deadline: float
    ) -> Result:
        """Send a request and return what `parse` makes of the JSON object in the response.

        `deadline` is a moment of the clock, after which no attempt is made. Raises ProviderError.
        """
        call = _Call(began_at=self._clock())
        outcome, failure = "fault", None
        try:
            message = self._message(request, call, deadline=deadline)
            result = parse(_content_of(message, call))
            outcome = "answered"
            return result
        except UnusableResponseError as unusable:
            outcome = unusable.outcome
            raise
        except RequestFailed as failed:
            outcome, failure = failed.failure.outcome, failed.failure
            raise failure.as_error() from None
        finally:
            self._log(request, call, outcome, failure)

    def _message(self, request: ModelRequest, call: _Call, *, deadline: float) -> JsonObject:
        """The API's message, after as many attempts as make sense."""
        while True:
            call.attempts += 1
            try:
                return self._attempt(request, call, seconds=min(request.seconds, deadline - self._clock()))
            except (anthropic.APIStatusError, anthropic.APIConnectionError, httpx2.TransportError) as error:
                failure = failure_of(error)
                call.request_id = safe_identifier(getattr(error, "request_id", None))
            pause = self._next_pause(request, call, failure, deadline=deadline)
            if pause is None:
                raise RequestFailed(failure)
            self._pause(pause)

    def _next_pause(
        self, request: ModelRequest, call: _Call, failure: Failure, *, deadline: float
    ) -> float | None:
        """Seconds until the next attempt; None if there should be none."""
        if not failure.is_temporary or call.attempts > len(PAUSES):
            return None
        pause = failure.retry_after or PAUSES[call.attempts - 1]
        time_left = deadline - self._clock() - pause
        return None if pause > MAX_PAUSE or time_left < request.seconds * _MIN_SHARE_OF_TIME else pause

    def _attempt(self, request: ModelRequest, call: _Call, *, seconds: float) -> JsonObject:
        ends_at = self._clock() + seconds
        system: list[TextBlockParam] = [
            # The same in each request of a kind: the API may cache it, and then reads it at a lower price.
            {"type": "text", "text": request.prompt.instructions, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": request.prompt.terms},
        ]
        with self._client.messages.with_streaming_response.create(
            model=request.model,
            max_tokens=request.max_tokens,
            system=system,
            messages=[{"role": "user", "content": request.prompt.data}],
            output_config=_output_config(request),
            timeout=httpx2.Timeout(seconds, connect=min(SECONDS_TO_CONNECT, seconds)),
        ) as response:
            call.request_id = safe_identifier(response.headers.get("request-id"))
            raw = bytearray()
            for chunk in response.iter_bytes():
                raw += chunk
                if len(raw) > MAX_RESPONSE_BYTES:
                    raise RequestFailed(Failure("too_long", "The AI provider's response is too long."))
                # The SDK's timeout is for each read, and starts again with every byte.
                if self._clock() > ends_at:
                    raise httpx2.ReadTimeout("The response took too long.")
        return _parse_message(bytes(raw))

    def _log(self, request: ModelRequest, call: _Call, outcome: str, failure: Failure | None) -> None:
        fields: dict[str, object] = {
            "provider": ANTHROPIC,
            "model": request.model,
            "purpose": request.purpose,
            "outcome": outcome,
            "attempts": call.attempts,
            "duration_ms": round((self._clock() - call.began_at) * 1000),
            "provider_request_id": call.request_id,
            "stop_reason": call.stop_reason,
            "input_tokens": call.usage.input,
            "output_tokens": call.usage.output,
            "cache_write_tokens": call.usage.cache_writes,
            "cache_read_tokens": call.usage.cache_reads,
            "cost_usd": prices.cost_of(request.model, call.usage),
        }
        if failure is not None:
            fields |= {"status": failure.status, "code": failure.code}
        if failure is not None and failure.is_configuration:
            log.error("ai.asked", **fields)
        elif outcome == "answered":
            log.info("ai.asked", **fields)
        else:
            log.warning("ai.asked", **fields)


def _output_config(request: ModelRequest) -> OutputConfigParam:
    config: OutputConfigParam = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    if prices.accepts_effort(request.model):
        config["effort"] = "medium" if request.effort == "medium" else "low"
    return config


# --- Responses ------------------------------------------------------------------------------------------


def _parse_message(raw: bytes) -> JsonObject:
    try:
        message = parse_object(raw.decode("utf-8"))
    except (UnusableResponseError, UnicodeDecodeError):
        message = {}
    if message.get("type") != "message" or not isinstance(message.get("content"), list):
        failure = Failure("no_message", "The AI provider returned an unexpected response.")
        raise RequestFailed(failure) from None
    return message


def _content_of(message: JsonObject, call: _Call) -> JsonObject:
    """The JSON object that the model wrote, without its thinking. Raises UnusableResponseError."""
    call.usage = _usage_of(message.get("usage"))
    reason = message.get("stop_reason")
    call.stop_reason = reason if reason in _STOP_REASONS else "unknown"
    if reason == "refusal":
        raise UnusableResponseError("The AI model declined to answer this.", outcome="refused")
    if reason in ("max_tokens", "model_context_window_exceeded"):
        # We do not ask again with more room: a longer response would not be finished in time.
        raise UnusableResponseError("The AI model's answer was too long and was cut off.", outcome="cut_off")
    parts = [part for part in message["content"] if isinstance(part, Mapping) and part.get("type") == "text"]
    text = "".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    if not text.strip():
        raise UnusableResponseError("The AI model returned an empty answer.", outcome="empty")
    return parse_object(text)


def _usage_of(raw: object) -> TokenUsage:
    """The token counts; 0 for any that is not a whole number."""
    usage = raw if isinstance(raw, Mapping) else {}

    def count(key: str) -> int:
        value = usage.get(key)
        return value if type(value) is int and value >= 0 else 0

    return TokenUsage(
        uncached=count("input_tokens"),
        cache_writes=count("cache_creation_input_tokens"),
        cache_reads=count("cache_read_input_tokens"),
        output=count("output_tokens"),
    )
