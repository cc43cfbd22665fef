"""Whatever goes wrong on the line to the provider, over a loopback: what is tried again, and what is said."""

import socket
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
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
def test_what_would_fail_again_is_not_tried_again(
    claude: ClaudeProvider, anthropic: Loopback, status: int, type_: str, words: str
) -> None:
    anthropic.fail(status, type_, SECRET)

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
def test_what_may_pass_is_tried_three_times(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float], status: int, type_: str, words: str
) -> None:
    anthropic.always_fail(status, type_, SECRET)

    failure = failure_of(claude)

    assert words in failure.message
    assert failure.retry_after == 30
    assert len(anthropic.requests) == 3
    assert pauses == [0.5, 2.0]


def test_a_failure_that_passed_leaves_no_trace(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float]
) -> None:
    anthropic.fail(529, "overloaded_error")
    anthropic.drop()
    anthropic.say(SUMMARY)

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
def test_a_short_wait_that_the_provider_asks_for_is_kept(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float], headers: dict[str, str], pause: float
) -> None:
    anthropic.fail(429, "rate_limit_error", headers=headers)
    anthropic.say(SUMMARY)

    claude.summarize_analysis(OVERVIEW)

    assert pauses == [pause]


@pytest.mark.parametrize(
    ("told", "kept"), [("9", 9), ("60.2", 61), ("86400", 86_400), ("inf", 30), ("999999999", 86_400)]
)
def test_a_long_wait_is_the_callers(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float], told: str, kept: int
) -> None:
    anthropic.always_fail(429, "rate_limit_error", headers={"retry-after": told})

    assert failure_of(claude).retry_after == kept
    assert len(anthropic.requests) == (3 if told == "inf" else 1)


def test_a_wait_may_be_told_as_a_date(claude: ClaudeProvider, anthropic: Loopback) -> None:
    tomorrow = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    anthropic.fail(429, "rate_limit_error", headers={"retry-after": tomorrow})

    assert 3_000 < failure_of(claude).retry_after <= 3_600


@pytest.mark.parametrize(("status", "told", "requests"), [(529, "false", 1), (400, "true", 3)])
def test_the_provider_may_say_whether_another_try_makes_sense(
    claude: ClaudeProvider, anthropic: Loopback, status: int, told: str, requests: int
) -> None:
    anthropic.always_fail(status, "api_error", headers={"x-should-retry": told})

    failure_of(claude)

    assert len(anthropic.requests) == requests


def test_a_configuration_that_is_wrong_is_not_asked_about_every_moment(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.fail(401, "authentication_error")

    assert failure_of(claude).retry_after == 300


REFUSALS: dict[str, tuple[Callable[[Loopback], None], str]] = {
    "refused": (lambda loopback: loopback.say_text("I will not.", stop_reason="refusal"), "declined"),
    "refused without a word": (lambda loopback: loopback.say_content([], stop_reason="refusal"), "declined"),
    "cut off": (lambda loopback: loopback.say_text('{"summ', stop_reason="max_tokens"), "cut off"),
    "cut off where it could be read": (
        lambda loopback: loopback.say(SUMMARY, stop_reason="max_tokens"),
        "cut off",
    ),
    "beyond its window": (
        lambda loopback: loopback.say_text("", stop_reason="model_context_window_exceeded"),
        "cut off",
    ),
    "nothing": (lambda loopback: loopback.say_content([]), "empty answer"),
    "an empty text": (lambda loopback: loopback.say_text(" "), "empty answer"),
    "thoughts alone": (
        lambda loopback: loopback.say_content([{"type": "thinking", "thinking": "Hm.", "signature": "s"}]),
        "empty answer",
    ),
    "content of another kind": (lambda loopback: loopback.say_content(["Hello."]), "empty answer"),  # type: ignore[list-item]
    "a text that is none": (
        lambda loopback: loopback.say_content([{"type": "text", "text": 5}]),
        "empty answer",
    ),
    "no JSON": (lambda loopback: loopback.say_text("All is well."), "required form"),
    "JSON of another form": (lambda loopback: loopback.say({"summary": ["All is well."]}), "required form"),
    "an empty summary": (lambda loopback: loopback.say({"summary": "  "}), "required form"),
    "a page": (lambda loopback: loopback.say_raw(b"<html>Sign in</html>"), "unexpected response"),
    "JSON that is no message": (lambda loopback: loopback.say_raw(b'{"ok": true}'), "unexpected response"),
    "a list": (lambda loopback: loopback.say_raw(b"[]"), "unexpected response"),
    "bytes": (lambda loopback: loopback.say_raw(b"\xff\xfe\x00"), "unexpected response"),
    "nothing at all": (lambda loopback: loopback.say_raw(b""), "unexpected response"),
    "no end": (lambda loopback: loopback.say_raw(b" " * 2_100_000), "response is too long"),
    "elsewhere": (
        lambda loopback: loopback.say_raw(b"", status=307, headers={"location": "/v1/elsewhere"}),
        "ANTHROPIC_MODEL",
    ),
}


@pytest.mark.parametrize(("spoil", "words"), REFUSALS.values(), ids=REFUSALS)
def test_an_answer_that_is_none_is_a_failure_and_is_not_asked_for_again(
    claude: ClaudeProvider,
    anthropic: Loopback,
    pauses: list[float],
    spoil: Callable[[Loopback], None],
    words: str,
) -> None:
    spoil(anthropic)

    assert words in failure_of(claude).message
    assert pauses == []
    assert anthropic.unsaid == 0


def test_what_the_model_thinks_before_is_passed_over(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.say(SUMMARY, before=[{"type": "thinking", "thinking": "{}", "signature": "s"}])

    assert claude.summarize_analysis(OVERVIEW) == "All is well."


def test_a_silent_provider_is_waited_for_three_times(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surveys.ai.claude.SECONDS_FOR_A_SUMMARY", 0.2)
    for _ in range(3):
        anthropic.hang()

    assert failure_of(claude).message == "The AI provider took too long. Please try again."
    assert anthropic.unsaid == 0
    assert pauses == [0.5, 2.0]


def test_no_try_begins_for_which_there_is_no_time_left(anthropic: Loopback, pauses: list[float]) -> None:
    now = [0.0]

    def slow(_body: Mapping[str, Any]) -> object:
        now[0] += 111
        return SUMMARY

    anthropic.always(slow)
    with ClaudeProvider(
        api_key=KEY, base_url=anthropic.url, pause=pauses.append, clock=lambda: now[0]
    ) as claude:
        failure = failure_of(claude)

    assert failure.message == "The AI provider took too long. Please try again."
    assert len(anthropic.requests) == 1
    assert pauses == []


def test_an_answer_that_breaks_off_is_asked_for_again(claude: ClaudeProvider, anthropic: Loopback) -> None:
    for _ in range(3):
        anthropic.drop()

    assert failure_of(claude).message == "The AI provider could not be reached."
    assert len(anthropic.requests) == 3


def test_a_provider_that_is_not_there_is_tried_three_times(pauses: list[float]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with ClaudeProvider(api_key=KEY, base_url=address, pause=pauses.append) as claude:
            failure = failure_of(claude)

    assert failure.message == "The AI provider could not be reached."
    assert pauses == [0.5, 2.0]


def test_a_fault_of_ours_is_not_taken_for_one_of_the_provider(
    claude: ClaudeProvider, anthropic: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    anthropic.always(SUMMARY)
    monkeypatch.setattr("surveys.ai.claude.as_sentences", faulty)

    with pytest.raises(ZeroDivisionError):
        claude.summarize_analysis(OVERVIEW)
