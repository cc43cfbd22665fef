"""The line to the Anthropic API: one question, its retries, and one line in the log. Loads the SDK.

Nothing of what is sent or answered, and no key, gets into the log or into the sentence of a failure.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import anthropic
import httpx2
import structlog
from anthropic.types import OutputConfigParam, TextBlockParam

from surveys.ai.claude import prices, shapes
from surveys.ai.claude.prices import Usage
from surveys.ai.claude.question import Question, Unusable
from surveys.ai.claude.shapes import Part
from surveys.ai.provider import ProviderFailed

DEFAULT_BASE_URL = "https://api.anthropic.com"
WAITS = (0.5, 2.0)  # seconds before the second and the third try
LONGEST_WAIT = 8.0
MOST_BYTES = 2_000_000  # of an answer
SECONDS_TO_CONNECT = 5.0
_LEAST_PART = 1 / 3  # of a question's seconds: with less time left another try is in vain
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
_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")

Result = TypeVar("Result")
log = structlog.get_logger("colloquy.ai")

# At DEBUG the SDK writes whole requests, with what people answered; nobody's log level may bring that about.
# The other's line for each request says less than ours.
for _name in ("anthropic", "httpx2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer: a word for the log, a sentence for the caller, and what may help."""

    outcome: str
    message: str
    may_pass: bool = False
    retry_after: float | None = None
    status: int | None = None
    code: str | None = None
    is_of_settings: bool = False


@dataclass(slots=True)
class _Call:
    """What the log will tell of a question."""

    began_at: float
    attempts: int = 0
    request_id: str | None = None
    stop_reason: str | None = None
    usage: Usage = field(default_factory=Usage)


class Line:
    """One client of the SDK, whose connections all threads share, as its `httpx2.Client` is made for that."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None,
        pause: Callable[[float], None],
        clock: Callable[[], float],
    ) -> None:
        self._pause, self._clock = pause, clock
        # With a key given the SDK looks for no other, neither ANTHROPIC_AUTH_TOKEN nor profiles on disk; with
        # an address given an empty ANTHROPIC_BASE_URL does no harm.
        self._client = anthropic.Anthropic(
            api_key=api_key,
            base_url=base_url or DEFAULT_BASE_URL,
            max_retries=0,  # its own would sleep out any Retry-After
            open_telemetry={"traces": {"content_mode": "metadata_only"}},
        )

    def close(self) -> None:
        self._client.close()

    def ask(self, question: Question, read: Callable[[Part], Result], *, deadline: float) -> Result:
        """What `read` makes of the JSON object that is answered. Raises ProviderFailed."""
        call = _Call(began_at=self._clock())
        outcome, failure = "fault", None
        try:
            message = self._message(question, call, deadline=deadline)
            result = read(_answer(message, call))
            outcome = "answered"
            return result
        except Unusable as unusable:
            outcome = unusable.outcome
            raise
        except _Failed as failed:
            outcome, failure = failed.failure.outcome, failed.failure
            raise _told(failure) from None
        finally:
            self._log(question, call, outcome, failure)

    def _message(self, question: Question, call: _Call, *, deadline: float) -> Part:
        """The message that is answered, with as many tries as make sense."""
        while True:
            call.attempts += 1
            try:
                return self._sent(question, call, seconds=min(question.seconds, deadline - self._clock()))
            except (anthropic.APIStatusError, anthropic.APIConnectionError, httpx2.TransportError) as error:
                failure = failure_of(error)
                call.request_id = _request_id(getattr(error, "request_id", None))
            wait = self._wait(question, call, failure, deadline=deadline)
            if wait is None:
                raise _Failed(failure)
            self._pause(wait)

    def _wait(self, question: Question, call: _Call, failure: Failure, *, deadline: float) -> float | None:
        """Seconds until the next try; None where there is to be none."""
        if not failure.may_pass or call.attempts > len(WAITS):
            return None
        wait = failure.retry_after or WAITS[call.attempts - 1]
        if wait > LONGEST_WAIT or deadline - self._clock() - wait < question.seconds * _LEAST_PART:
            return None
        return wait

    def _sent(self, question: Question, call: _Call, *, seconds: float) -> Part:
        ends_at = self._clock() + seconds
        system: list[TextBlockParam] = [
            # This part is always the same: the provider may keep it, and then reads it for little.
            {"type": "text", "text": question.prompt.instructions, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": question.prompt.terms},
        ]
        with self._client.messages.with_streaming_response.create(
            model=question.model,
            max_tokens=question.max_tokens,
            system=system,
            messages=[{"role": "user", "content": question.prompt.data}],
            output_config=_output_config(question),
            timeout=httpx2.Timeout(seconds, connect=min(SECONDS_TO_CONNECT, seconds)),
        ) as response:
            call.request_id = _request_id(response.headers.get("request-id"))
            raw = bytearray()
            for chunk in response.iter_bytes():
                raw += chunk
                if len(raw) > MOST_BYTES:
                    raise _Failed(Failure("too_long", "The AI provider's answer was too long to be read."))
                if (
                    self._clock() > ends_at
                ):  # the SDK's time-out is for each read, and starts anew with every byte
                    raise httpx2.ReadTimeout("The answer took too long.")
        return _message_of(bytes(raw))

    def _log(self, question: Question, call: _Call, outcome: str, failure: Failure | None) -> None:
        facts: dict[str, object] = {
            "provider": "anthropic",
            "model": question.model,
            "purpose": question.purpose,
            "outcome": outcome,
            "attempts": call.attempts,
            "duration_ms": round((self._clock() - call.began_at) * 1000),
            "provider_request_id": call.request_id,
            "stop_reason": call.stop_reason,
            "input_tokens": call.usage.input,
            "output_tokens": call.usage.output,
            "cache_write_tokens": call.usage.cache_writes,
            "cache_read_tokens": call.usage.cache_reads,
            "cost_usd": prices.cost(question.model, call.usage),
        }
        if failure is not None:
            facts |= {"status": failure.status, "code": failure.code}
        if failure is not None and failure.is_of_settings:
            log.error("ai.asked", **facts)
        elif outcome == "answered":
            log.info("ai.asked", **facts)
        else:
            log.warning("ai.asked", **facts)


class _Failed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.outcome)
        self.failure = failure


def _told(failure: Failure) -> ProviderFailed:
    if failure.retry_after is not None:
        return ProviderFailed(failure.message, retry_after=max(1, math.ceil(failure.retry_after)))
    if failure.is_of_settings:
        return ProviderFailed(failure.message, retry_after=300)
    return ProviderFailed(failure.message)


def _output_config(question: Question) -> OutputConfigParam:
    config: OutputConfigParam = {"format": {"type": "json_schema", "schema": dict(question.schema)}}
    if prices.takes_effort(question.model):
        config["effort"] = "medium" if question.effort == "medium" else "low"
    return config


# --- Answers --------------------------------------------------------------------------------------------


def _message_of(raw: bytes) -> Part:
    try:
        message = shapes.parsed(raw.decode("utf-8"))
    except (Unusable, UnicodeDecodeError):
        message = {}
    if message.get("type") != "message" or not isinstance(message.get("content"), list):
        words = "What answered in place of the AI provider does not speak its language."
        raise _Failed(Failure("no_message", words)) from None
    return message


def _answer(message: Part, call: _Call) -> Part:
    """The JSON object that the model wrote. Raises Unusable."""
    call.usage = _usage(message.get("usage"))
    reason = message.get("stop_reason")
    call.stop_reason = reason if reason in _STOP_REASONS else "unknown"
    if reason == "refusal":
        raise Unusable("The AI model declined to answer this.", outcome="refused")
    if reason in ("max_tokens", "model_context_window_exceeded"):
        # Not asked again with more room: what is longer than there is room for would not be done in time.
        raise Unusable("The AI model's answer grew too long, and was cut off.", outcome="cut_off")
    texts = [each for each in message["content"] if isinstance(each, Mapping) and each.get("type") == "text"]
    text = "".join(
        each["text"] for each in texts if isinstance(each.get("text"), str)
    )  # thinking is left out
    if not text.strip():
        raise Unusable("The AI model answered nothing.", outcome="empty")
    return shapes.parsed(text)


def _usage(told: object) -> Usage:
    usage = told if isinstance(told, Mapping) else {}

    def count(key: str) -> int:
        found = usage.get(key)
        return found if type(found) is int and found >= 0 else 0

    return Usage(
        fresh=count("input_tokens"),
        cache_writes=count("cache_creation_input_tokens"),
        cache_reads=count("cache_read_input_tokens"),
        output=count("output_tokens"),
    )


def _request_id(told: object) -> str | None:
    return told if isinstance(told, str) and _REQUEST_ID.fullmatch(told) else None


# --- Failures -------------------------------------------------------------------------------------------

_OF_SETTINGS = {
    401: "The AI provider does not know this installation: its operator should look at ANTHROPIC_API_KEY.",
    402: "The AI provider asks for payment: its operator should look at the account of ANTHROPIC_API_KEY.",
    403: "The AI provider forbids this: the operator should look at ANTHROPIC_API_KEY and ANTHROPIC_MODEL.",
    404: "The AI provider knows no such model: the operator should look at ANTHROPIC_MODEL, or the address.",
}
_OUTCOMES = {
    400: ("bad_request", "The AI provider did not understand the request."),
    408: ("timed_out", "The AI provider took too long."),
    413: ("too_large", "This is too much for one request to the AI provider."),
    429: ("limited", "The AI provider is taking no more requests from this installation at the moment."),
    504: ("timed_out", "The AI provider took too long."),
    529: ("overloaded", "The AI provider is overloaded at the moment."),
}


def failure_of(error: Exception) -> Failure:
    """What one try that failed comes to. Raises Unusable where a smaller question might be answered."""
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
        return Failure("timed_out", "The AI provider took too long.", may_pass=True)
    if not isinstance(error, anthropic.APIStatusError):
        return Failure("unreachable", "The AI provider could not be reached.", may_pass=True)
    status = error.status_code
    if status == 413:
        raise Unusable(_OUTCOMES[413][1], outcome=_OUTCOMES[413][0]) from None
    outcome, message = _OUTCOMES.get(status, ("failed", "The AI provider failed to answer."))
    return Failure(
        outcome="misconfigured" if status in _OF_SETTINGS else outcome,
        message=_OF_SETTINGS.get(status, message),
        may_pass=_may_pass(status, error.response.headers.get("x-should-retry")),
        retry_after=retry_after(error.response.headers),
        status=status,
        code=error.error_code if _request_id(error.error_code) else None,  # a word, and not a sentence
        is_of_settings=status in _OF_SETTINGS,
    )


def _may_pass(status: int, told: str | None) -> bool:
    if told in ("true", "false"):
        return told == "true"
    return status in (408, 409, 429) or status >= 500


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the provider asks for, at most a day; None where it names none that make sense."""
    told: Any = headers.get("retry-after-ms")
    divisor = 1000
    if told is None:
        told, divisor = headers.get("retry-after"), 1
    if told is None:
        return None
    try:
        seconds = float(told) / divisor
    except ValueError:
        seconds = _until(told)
    return min(seconds, 86_400.0) if math.isfinite(seconds) and seconds > 0 else None


def _until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, OverflowError):
        return math.nan
