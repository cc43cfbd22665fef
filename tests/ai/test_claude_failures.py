"""Failures of the connection to the API, over a loopback: the retries, and the caller's errors."""

import socket
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from surveys.ai.claude import ClaudeProvider
from surveys.ai.provider import AnalysisOverview, ProviderError
from tests.support.ai.api_key import KEY
from tests.support.ai.loopback import Loopback

OVERVIEW = AnalysisOverview("Tea", completion_count=3, conversation_count=4, blocks=[])
SECRET = "the words of the error"
SUMMARY = {"summary": "All is well."}


def failure_of(claude: ClaudeProvider) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        claude.summarize_analysis(OVERVIEW)
    failure = raised.value
    assert SECRET not in failure.message
    assert KEY not in failure.message
    assert failure.message.endswith(".")
    assert SECRET not in "".join(traceback.format_exception(failure))
    return failure


@pytest.mark.parametrize(
    ("status", "type_", "words"),
    [
        (400, "invalid_request_error", "rejected the request"),
        (401, "authentication_error", "ANTHROPIC_API_KEY"),
        (402, "billing_error", "ANTHROPIC_API_KEY"),
        (403, "permission_error", "ANTHROPIC_API_KEY"),
        (404, "not_found_error", "ANTHROPIC_MODEL"),
        (413, "request_too_large", "too large"),
        (422, "invalid_request_error", "failed to answer"),
    ],
)
def test_permanent_failures_are_not_retried(
    claude: ClaudeProvider, anthropic: Loopback, status: int, type_: str, words: str
) -> None:
    anthropic.queue_error(status, type_, SECRET)

    assert words in failure_of(claude).message
    assert len(anthropic.requests) == 1


@pytest.mark.parametrize(
    ("status", "type_", "words"),
    [
        (408, "timeout_error", "too long"),
        (409, "conflict_error", "failed to answer"),
        (429, "rate_limit_error", "no more requests"),
        (500, "api_error", "failed to answer"),
        (502, "api_error", "failed to answer"),
        (504, "timeout_error", "too long"),
        (529, "overloaded_error", "overloaded"),
    ],
)
def test_temporary_failures_are_tried_three_times(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float], status: int, type_: str, words: str
) -> None:
    anthropic.default_to_error(status, type_, SECRET)

    failure = failure_of(claude)

    assert words in failure.message
    assert failure.retry_after == 30
    assert len(anthropic.requests) == 3
    assert pauses == [0.5, 2.0]


def test_a_successful_retry_hides_the_failures_before_it(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float]
) -> None:
    anthropic.queue_error(529, "overloaded_error")
    anthropic.queue_cut_off()
    anthropic.queue(SUMMARY)

    assert claude.summarize_analysis(OVERVIEW) == "All is well."
    assert pauses == [0.5, 2.0]


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "8"}, 8.0),
        ({"retry-after-ms": "250", "retry-after": "60"}, 0.25),
        ({"retry-after": "0"}, 0.5),
        ({"retry-after": "-5"}, 0.5),
        ({"retry-after": "soon"}, 0.5),
        ({"retry-after": "nan"}, 0.5),
        ({"retry-after": "Sat, 31 Jan 2026 12:00:00 GMT"}, 0.5),
    ],
)
def test_a_short_retry_after_is_respected(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float], headers: dict[str, str], pause: float
) -> None:
    anthropic.queue_error(429, "rate_limit_error", headers=headers)
    anthropic.queue(SUMMARY)

    claude.summarize_analysis(OVERVIEW)

    assert pauses == [pause]


@pytest.mark.parametrize(
    ("header", "retry_after"), [("9", 9), ("60.2", 61), ("86400", 86_400), ("inf", 30), ("999999999", 86_400)]
)
def test_a_long_retry_after_is_passed_to_the_caller(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float], header: str, retry_after: int
) -> None:
    anthropic.default_to_error(429, "rate_limit_error", headers={"retry-after": header})

    assert failure_of(claude).retry_after == retry_after
    assert len(anthropic.requests) == (3 if header == "inf" else 1)


@pytest.mark.parametrize(("status", "should_retry", "requests"), [(529, "false", 1), (400, "true", 3)])
def test_the_provider_may_say_whether_to_retry(
    claude: ClaudeProvider, anthropic: Loopback, status: int, should_retry: str, requests: int
) -> None:
    anthropic.default_to_error(status, "api_error", headers={"x-should-retry": should_retry})

    failure_of(claude)

    assert len(anthropic.requests) == requests


UNUSABLE: dict[str, tuple[Callable[[Loopback], None], str]] = {
    "refused": (lambda loopback: loopback.queue_text("I will not.", stop_reason="refusal"), "declined"),
    "refused without words": (lambda loopback: loopback.queue_content([], stop_reason="refusal"), "declined"),
    "cut off": (lambda loopback: loopback.queue_text('{"summ', stop_reason="max_tokens"), "cut off"),
    "cut off where it could be read": (
        lambda loopback: loopback.queue(SUMMARY, stop_reason="max_tokens"),
        "cut off",
    ),
    "beyond its window": (
        lambda loopback: loopback.queue_text("", stop_reason="model_context_window_exceeded"),
        "cut off",
    ),
    "nothing": (lambda loopback: loopback.queue_content([]), "empty answer"),
    "an empty text": (lambda loopback: loopback.queue_text(" "), "empty answer"),
    "thoughts alone": (
        lambda loopback: loopback.queue_content([{"type": "thinking", "thinking": "Hm.", "signature": "s"}]),
        "empty answer",
    ),
    "content of another kind": (lambda loopback: loopback.queue_content(["Hello."]), "empty answer"),  # type: ignore[list-item]
    "a text that is none": (
        lambda loopback: loopback.queue_content([{"type": "text", "text": 5}]),
        "empty answer",
    ),
    "no JSON": (lambda loopback: loopback.queue_text("All is well."), "required form"),
    "JSON of another form": (lambda loopback: loopback.queue({"summary": ["All is well."]}), "required form"),
    "an empty summary": (lambda loopback: loopback.queue({"summary": "  "}), "required form"),
    "a page": (lambda loopback: loopback.queue_raw(b"<html>Sign in</html>"), "unexpected response"),
    "JSON that is no message": (lambda loopback: loopback.queue_raw(b'{"ok": true}'), "unexpected response"),
    "a list": (lambda loopback: loopback.queue_raw(b"[]"), "unexpected response"),
    "bytes": (lambda loopback: loopback.queue_raw(b"\xff\xfe\x00"), "unexpected response"),
    "nothing at all": (lambda loopback: loopback.queue_raw(b""), "unexpected response"),
    "no end": (lambda loopback: loopback.queue_raw(b" " * 2_100_000), "response is too long"),
    "elsewhere": (
        lambda loopback: loopback.queue_raw(b"", status=307, headers={"location": "/v1/elsewhere"}),
        "redirects to another one. The operator must check ANTHROPIC_BASE_URL",
    ),
}


@pytest.mark.parametrize(("spoil", "words"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_response_is_an_error_without_a_retry(
    claude: ClaudeProvider,
    anthropic: Loopback,
    pauses: list[float],
    spoil: Callable[[Loopback], None],
    words: str,
) -> None:
    """Rule 10.35."""
    spoil(anthropic)

    assert words in failure_of(claude).message
    assert pauses == []
    assert anthropic.queued_count == 0


def test_the_thinking_of_the_model_is_ignored(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue(SUMMARY, before=[{"type": "thinking", "thinking": "{}", "signature": "s"}])

    assert claude.summarize_analysis(OVERVIEW) == "All is well."


def test_a_silent_provider_is_tried_three_times(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surveys.ai.models.provider.SECONDS_FOR_A_SUMMARY", 0.2)
    for _ in range(3):
        anthropic.queue_silence()

    assert failure_of(claude).message == "The AI provider took too long. Please try again."
    assert anthropic.queued_count == 0
    assert pauses == [0.5, 2.0]


def test_no_attempt_begins_without_enough_time_left(anthropic: Loopback, pauses: list[float]) -> None:
    now = [0.0]

    def slow(_body: Mapping[str, Any]) -> object:
        now[0] += 111
        return SUMMARY

    anthropic.default_to(slow)
    with ClaudeProvider(
        api_key=KEY, base_url=anthropic.url, pause=pauses.append, clock=lambda: now[0]
    ) as claude:
        failure = failure_of(claude)

    assert failure.message == "The AI provider took too long. Please try again."
    assert len(anthropic.requests) == 1
    assert pauses == []


def test_a_response_that_is_cut_off_is_retried(claude: ClaudeProvider, anthropic: Loopback) -> None:
    for _ in range(3):
        anthropic.queue_cut_off()

    assert failure_of(claude).message == "The AI provider could not be reached."
    assert len(anthropic.requests) == 3


def test_an_unreachable_provider_is_tried_three_times(pauses: list[float]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with ClaudeProvider(api_key=KEY, base_url=address, pause=pauses.append) as claude:
            failure = failure_of(claude)

    assert failure.message == "The AI provider could not be reached."
    assert pauses == [0.5, 2.0]


def test_a_bug_of_ours_is_not_reported_as_a_provider_error(
    claude: ClaudeProvider, anthropic: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    anthropic.default_to(SUMMARY)
    monkeypatch.setattr("surveys.ai.models.provider.as_plain_sentences", faulty)

    with pytest.raises(ZeroDivisionError):
        claude.summarize_analysis(OVERVIEW)
