"""The log has one line for each request, with its cost and nothing of its content."""

import logging
from typing import Any
from unittest.mock import patch

import pytest
import structlog

from surveys.ai.claude import ClaudeProvider
from surveys.ai.models.prices import TokenUsage, cost_of
from surveys.ai.provider import AnalysisOverview, ProviderError, ScriptRequest, TextBatch, TextTheme
from tests.support.ai.api_key import KEY
from tests.support.ai.loopback import Loopback
from tests.support.cases import try_each

OVERVIEW = AnalysisOverview("Tea", completion_count=3, conversation_count=4, blocks=[])
CONTENT = "Xanthippe says so"


def log_line_of(claude: ClaudeProvider, *, fails: bool = False) -> dict[str, Any]:
    """The log line of one request. A logger that has been used before may have other processors cached."""
    logger = structlog.get_logger("colloquy.ai")
    with structlog.testing.capture_logs() as log, patch("surveys.ai.models.client.log", logger):
        if fails:
            with pytest.raises(ProviderError):
                claude.summarize_analysis(OVERVIEW)
        else:
            claude.summarize_analysis(OVERVIEW)
    (line,) = log
    assert line.pop("event") == "ai.asked"
    assert line.pop("duration_ms") >= 0
    return dict(line)


def test_a_request_is_logged_with_its_tokens_and_its_cost(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    """Rule 10.34."""
    usage = {
        "input_tokens": 1_000,
        "output_tokens": 200,
        "cache_creation_input_tokens": 500,
        "cache_read_input_tokens": 10_000,
    }
    anthropic.queue({"summary": "Fine."}, usage=usage)

    assert log_line_of(claude) == {
        "log_level": "info",
        "provider": "anthropic",
        "model": "claude-haiku-5-5",
        "purpose": "summary",
        "outcome": "answered",
        "attempts": 1,
        "provider_request_id": "req_loopback",
        "stop_reason": "end_turn",
        "input_tokens": 11_500,
        "output_tokens": 200,
        "cache_write_tokens": 500,
        "cache_read_tokens": 10_000,
        "cost_usd": pytest.approx((1_000 * 0.1 + 200 * 0.5 + 500 * 0.125 + 10_000 * 0.01) / 1e6, abs=1e-6),
    }


@try_each(
    ("model", "usage", "cost"),
    [
        ("claude-sonnet-5-5", TokenUsage(uncached=1_000_000, output=100_000), 3.0),
        ("claude-sonnet-5-5", TokenUsage(cache_writes=1_000_000, cache_reads=1_000_000), 2.6),
        ("claude-haiku-5-5", TokenUsage(uncached=100_000, output=1_000_000), 0.51),
        ("claude-haiku-5-5", TokenUsage(uncached=1, cache_reads=100_000, output=1_000_000), 2.505),
        ("claude-sonnet-9", TokenUsage(uncached=1_000_000), None),
    ],
)
def test_the_cost_follows_the_price_of_the_model(model: str, usage: TokenUsage, cost: float | None) -> None:
    assert cost_of(model, usage) == cost


def test_a_model_from_the_settings_replaces_both_models(anthropic: Loopback) -> None:
    anthropic.queue({"summary": "Fine."})
    with ClaudeProvider(api_key=KEY, base_url=anthropic.url, model="claude-next") as claude:
        line = log_line_of(claude)
        claude.draft_script(ScriptRequest("Tea", "convo"))

    assert line["cost_usd"] is None
    assert [each.body["model"] for each in anthropic.requests] == ["claude-next"] * 2
    assert "effort" not in anthropic.requests[0].body["output_config"]


def test_models_that_accept_an_effort_get_one(claude: ClaudeProvider, anthropic: Loopback) -> None:
    claude.summarize_analysis(OVERVIEW)
    claude.draft_script(ScriptRequest("Tea", "convo"))

    efforts = [(each.body["model"], each.body["output_config"]["effort"]) for each in anthropic.requests]
    assert efforts == [("claude-haiku-5-5", "low"), ("claude-sonnet-5-5", "medium")]


def test_a_failure_is_logged_as_a_warning_with_status_and_attempts(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.default_to_error(529, "overloaded_error", CONTENT, headers={"request-id": "req_7"})

    line = log_line_of(claude, fails=True)

    logged = {
        key: line[key]
        for key in ("log_level", "outcome", "status", "code", "attempts", "provider_request_id")
    }
    assert logged == {
        "log_level": "warning",
        "outcome": "overloaded",
        "status": 529,
        "code": None,
        "attempts": 3,
        "provider_request_id": "req_7",
    }


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_a_failure_that_the_operator_must_fix_is_logged_as_an_error(
    claude: ClaudeProvider, anthropic: Loopback, status: int
) -> None:
    anthropic.queue_error(status, "some_error")

    line = log_line_of(claude, fails=True)

    assert (line["log_level"], line["outcome"], line["status"]) == ("error", "misconfigured", status)


def test_tokens_of_an_unusable_response_are_logged_too(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue({"summary": "F"}, stop_reason="max_tokens", usage={"output_tokens": 4_000})

    line = log_line_of(claude, fails=True)

    assert (line["outcome"], line["stop_reason"], line["output_tokens"]) == ("cut_off", "max_tokens", 4_000)


@pytest.mark.parametrize("fails", [False, True])
def test_no_log_level_brings_content_or_the_key_into_the_log(
    anthropic: Loopback, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    for name in ("", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
    if fails:
        anthropic.default_to_error(400, "invalid_request_error", CONTENT, headers={"request-id": CONTENT})
    else:
        reading = {"n": 0, "themes": [0], "sentiment": "neutral", "quote": CONTENT}
        anthropic.default_to({"texts": [reading]}, stop_reason=CONTENT)

    with ClaudeProvider(api_key=KEY, base_url=anthropic.url) as claude:
        try:
            claude.assign_themes(TextBatch(CONTENT, [CONTENT], [TextTheme(CONTENT)]))
        except ProviderError:
            assert fails

    assert "ai.asked" in caplog.text
    assert "Xanthippe" not in caplog.text.replace(f"(b'request-id', b'{CONTENT}')", "")
    assert KEY not in caplog.text
