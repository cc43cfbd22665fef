"""The client of an API: one request with its retries, one line in the log, and its price.

Neither the log nor the message of an error contains a key, or anything of what was sent or received.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

import httpx2
import structlog

from surveys.ai import spending
from surveys.ai.models import prices
from surveys.ai.models.failures import NO_MESSAGE, TIMED_OUT, TOO_LONG, Failure, RequestFailed
from surveys.ai.models.identifiers import safe_identifier
from surveys.ai.models.json_values import JsonObject, parse_object
from surveys.ai.models.prices import TokenUsage
from surveys.ai.models.request import ModelRequest, UnusableResponseError
from surveys.ai.provider import NO_BULK, BulkState, ProviderError
from surveys.ai.spending import Spending

PAUSES = (0.5, 2.0)  # The seconds before the second and before the third attempt.
MAX_PAUSE = 8.0
MAX_RESPONSE_BYTES = 2_000_000
MAX_BULK_BYTES = 50_000_000
SECONDS_TO_CONNECT = 5.0
_MIN_SHARE_OF_TIME = 1 / 3  # An attempt starts only if this share of a request's seconds is left.

Result = TypeVar("Result")
log = structlog.get_logger("colloquy.ai")

# httpx2 logs a line for each request, which says less than our log line.
logging.getLogger("httpx2").setLevel(logging.WARNING)


def bounded_client(kind: type[httpx2.Client]) -> httpx2.Client:
    """A client that ends each response after so many bytes, and after the time that its request had for one
    read. The SDKs read headers, bodies of errors, and results of bulks to their end.

    It follows no redirects, which would take people's answers, and perhaps the key, to another host.
    """
    hooks: dict[str, list[Callable[..., object]]] = {"request": [_begin_time], "response": [_bound_body]}
    return kind(follow_redirects=False, event_hooks=hooks)


_ends_at: ContextVar[float] = ContextVar("ends_at")  # of the request that this thread has sent


def _begin_time(request: httpx2.Request) -> None:
    _ends_at.set(time.monotonic() + request.extensions["timeout"]["read"])
    request.extensions["trace"] = _bound_reads


def _bound_reads(event: str, info: Mapping[str, Any]) -> None:
    """Bound all reads from a connection that was just made. The timeout of the transport is for one read, and
    a provider may send its headers one byte at a time.
    """
    if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
        return
    stream = info["return_value"]
    read = stream.read

    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        left = _ends_at.get() - time.monotonic()
        if left <= 0:
            raise httpx2.ReadTimeout("The response took too long.")
        received: bytes = read(max_bytes, left)
        return received

    stream.read = read_in_time


def _bound_body(response: httpx2.Response) -> None:
    most = MAX_RESPONSE_BYTES if response.is_error else MAX_BULK_BYTES
    response.stream = _BoundedStream(response.stream, most)  # type: ignore[arg-type]


class _BoundedStream(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, most: int) -> None:
        self._stream, self._left = stream, most

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            self._left -= len(part)
            if self._left < 0:
                raise httpx2.ReadError("The response is too long.")
            yield part

    def close(self) -> None:
        self._stream.close()


class StreamedResponse(Protocol):
    """The response of the SDKs to a request whose response is read bit by bit."""

    @property
    def headers(self) -> httpx2.Headers: ...

    def iter_bytes(self) -> Any: ...


@dataclass(slots=True)
class Call:
    """The facts about a request that its log line will contain."""

    began_at: float
    attempts: int = 0
    request_id: str | None = None
    stop_reason: str | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)


class ModelClient(ABC):
    """A client of an SDK. All threads share one client and its connections; the `httpx2.Client` is
    thread-safe.

    `pause` sleeps for a number of seconds, and `clock` returns monotonic seconds.
    """

    provider: ClassVar[str]
    request_id_header: ClassVar[str]
    # The errors of the SDK and the transport that make an attempt fail.
    errors: ClassVar[tuple[type[Exception], ...]]
    stop_reasons: ClassVar[frozenset[str]]  # The stop reasons that may be written to the log.

    def __init__(
        self,
        *,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pause, self._clock = pause, clock

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""

    @abstractmethod
    def _open(
        self, request: ModelRequest, timeout: httpx2.Timeout
    ) -> AbstractContextManager[StreamedResponse]:
        """Send a request."""

    @abstractmethod
    def _failure_of(self, error: Exception) -> Failure:
        """Describe an error of the SDK. Raises UnusableResponseError if a smaller request may succeed."""

    @abstractmethod
    def _text_of(self, message: JsonObject, call: Call) -> str:
        """Return the text of the model. Notes the usage and the stop reason. Raises UnusableResponseError."""

    def send(
        self, request: ModelRequest, parse: Callable[[JsonObject], Result], *, deadline: float
    ) -> Result:
        """Send a request and return what `parse` makes of the JSON object in the response.

        `deadline` is a moment of the clock, after which no attempt is made. Raises ProviderError.
        """
        call = Call(began_at=self._clock())
        outcome, failure = "fault", None
        try:
            message = self._message(request, call, deadline=deadline)
            result = parse(parse_object(self._text_of(message, call)))
            outcome = "answered"
            return result
        except UnusableResponseError as unusable:
            outcome = unusable.outcome
            raise
        except RequestFailed as failed:
            outcome, failure = failed.failure.outcome, failed.failure
            raise failure.as_error() from None
        finally:
            self._record(call, outcome, failure, model=request.model, purpose=request.purpose)

    def begin_bulk(self, requests: Sequence[ModelRequest]) -> str | None:
        """Send requests that the API answers within a day. Returns the id of the bulk; None if the API has no
        bulks.
        """
        return None

    def look_at_bulk(self, bulk_id: str) -> BulkState:
        """Return the progress of a bulk. Raises ProviderError."""
        raise ProviderError(NO_BULK)

    def end_bulk(
        self,
        bulk_id: str,
        parsers: Sequence[Callable[[JsonObject], Result]],
        *,
        model: str,
        purpose: str,
    ) -> list[Result | None]:
        """Return the results of `parsers`, each applied to the response to its request; None for an unusable
        response.

        Raises ProviderError.
        """
        raise ProviderError(NO_BULK)

    def cancel_bulk(self, bulk_id: str) -> None:
        """Stop a bulk. Raises ProviderError."""
        raise ProviderError(NO_BULK)

    def _message(self, request: ModelRequest, call: Call, *, deadline: float) -> JsonObject:
        """Return the API's message, after as many attempts as are useful."""
        while True:
            call.attempts += 1
            try:
                return self._attempt(request, call, seconds=min(request.seconds, deadline - self._clock()))
            except self.errors as error:
                call.request_id = safe_identifier(getattr(error, "request_id", None))
                failure = self._failure_of(error)
            pause = self._next_pause(request, call, failure, deadline=deadline)
            if pause is None:
                raise RequestFailed(failure)
            self._pause(pause)

    def _next_pause(
        self, request: ModelRequest, call: Call, failure: Failure, *, deadline: float
    ) -> float | None:
        """Seconds until the next attempt; None if there should be none."""
        if not failure.is_temporary or not request.may_retry or call.attempts > len(PAUSES):
            return None
        pause = failure.retry_after or PAUSES[call.attempts - 1]
        time_left = deadline - self._clock() - pause
        return None if pause > MAX_PAUSE or time_left < request.seconds * _MIN_SHARE_OF_TIME else pause

    def _attempt(self, request: ModelRequest, call: Call, *, seconds: float) -> JsonObject:
        if seconds <= 0:
            raise RequestFailed(TIMED_OUT)
        ends_at = self._clock() + seconds
        timeout = httpx2.Timeout(seconds, connect=min(SECONDS_TO_CONNECT, seconds))
        with self._open(request, timeout) as response:
            call.request_id = safe_identifier(response.headers.get(self.request_id_header))
            raw = bytearray()
            for chunk in response.iter_bytes():
                raw += chunk
                if len(raw) > MAX_RESPONSE_BYTES:
                    raise RequestFailed(TOO_LONG)
                if self._clock() > ends_at:
                    raise httpx2.ReadTimeout("The response took too long.")
        return _parse_message(bytes(raw))

    def _record(
        self,
        call: Call,
        outcome: str,
        failure: Failure | None,
        *,
        model: str,
        purpose: str,
        in_bulk: bool = False,
    ) -> None:
        """Write the log line, and count what the call has cost."""
        cost = prices.cost_of(model, call.usage, in_bulk=in_bulk)
        fields: dict[str, object] = {
            "provider": self.provider,
            "model": model,
            "purpose": purpose,
            "outcome": outcome,
            "attempts": call.attempts,
            "duration_ms": round((self._clock() - call.began_at) * 1000),
            "provider_request_id": call.request_id,
            "stop_reason": call.stop_reason if call.stop_reason in self.stop_reasons else "unknown",
            "input_tokens": call.usage.input,
            "output_tokens": call.usage.output,
            "cache_write_tokens": call.usage.cache_writes,
            "cache_read_tokens": call.usage.cache_reads,
            "cost_usd": cost,
        }
        if call.stop_reason is None:
            fields["stop_reason"] = None
        if failure is not None:
            fields |= {"status": failure.status, "code": failure.code}
        if failure is not None and failure.is_configuration:
            log.error("ai.asked", **fields)
        elif outcome == "answered":
            log.info("ai.asked", **fields)
        else:
            log.warning("ai.asked", **fields)
        spending.record(
            Spending(1, call.usage.input, call.usage.output, cost),
            provider=self.provider,
            model=model,
            purpose=purpose,
            outcome=outcome,
            cached_tokens=call.usage.cache_reads,
        )


# --- Responses ------------------------------------------------------------------------------------------


def _parse_message(raw: bytes) -> JsonObject:
    try:
        return parse_object(raw.decode("utf-8"))
    except (UnusableResponseError, UnicodeDecodeError):
        raise RequestFailed(NO_MESSAGE) from None


def declined() -> UnusableResponseError:
    """The error for a refusal of the model."""
    return UnusableResponseError("The AI model declined to answer this.", outcome="refused")


def cut_off() -> UnusableResponseError:
    """Return the error for an answer that ends too soon. The time would not suffice for a longer answer."""
    return UnusableResponseError("The AI model's answer was too long and was cut off.", outcome="cut_off")


def empty() -> UnusableResponseError:
    """The error for an answer without a text."""
    return UnusableResponseError("The AI model returned an empty answer.", outcome="empty")


def token_count(usage: object, key: str) -> int:
    """A count of tokens; 0 if the count is missing or is no whole number."""
    value = usage.get(key) if isinstance(usage, Mapping) else None
    return value if type(value) is int and value >= 0 else 0
