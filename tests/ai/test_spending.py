"""The costs of calls to a model, added up for the work that made them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from surveys.ai.claude import ClaudeProvider
from surveys.ai.openai import OpenAIProvider
from surveys.ai.provider import AnalysisOverview, ProviderError, TextBatch, TextTheme
from surveys.ai.spending import Spending, measure
from tests.support.ai.loopback import ChatLoopback, Loopback

OVERVIEW = AnalysisOverview("Tea", completion_count=3, conversation_count=4, blocks=[])
ONE_CALL = round(
    (1_000 * 0.1 + 200 * 0.5) / 1e6, 6
)  # of the loopback's usage, at the prices of the model for texts


def test_all_calls_of_a_piece_of_work_are_added_up(claude: ClaudeProvider, anthropic: Loopback) -> None:
    claude.summarize_analysis(OVERVIEW)
    with measure() as spent:
        claude.assign_themes(TextBatch("Why?", ["x" * 10_000] * 7, [TextTheme("Slow")]))
        with measure() as inner:
            claude.summarize_analysis(OVERVIEW)
    claude.summarize_analysis(OVERVIEW)

    assert (spent.calls, spent.input_tokens, spent.output_tokens) == (3, 3_000, 600)
    assert spent.cost_usd == round(3 * ONE_CALL, 6)
    assert inner == Spending(1, 1_000, 200, ONE_CALL)
    assert len(anthropic.requests) == 5


def test_a_call_that_fails_costs_what_it_has_used(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue({"summary": "F"}, stop_reason="max_tokens")
    anthropic.queue_error(400, "invalid_request_error")

    with measure() as spent:
        for _ in range(2):
            with pytest.raises(ProviderError):
                claude.summarize_analysis(OVERVIEW)

    assert spent == Spending(2, 1_000, 200, ONE_CALL)


def test_an_answer_that_is_requested_again_is_paid_twice(chat: OpenAIProvider, server: ChatLoopback) -> None:
    server.queue_text("no JSON")

    with measure() as spent:
        chat.summarize_analysis(OVERVIEW)

    assert spent.calls == 2


def test_threads_add_to_the_same_sum_in_a_copy_of_the_context_and_measure_apart_without(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    def alone(_number: int) -> Spending:
        with measure() as own:
            claude.summarize_analysis(OVERVIEW)
        return own

    with measure() as spent, ThreadPoolExecutor(8) as threads:
        contexts = [copy_context() for _ in range(16)]
        list(threads.map(lambda context: context.run(claude.summarize_analysis, OVERVIEW), contexts))
        apart = list(threads.map(alone, range(4)))

    assert spent.calls == 16
    assert spent.cost_usd == round(16 * ONE_CALL, 6)
    total = Spending()
    for each in apart:
        total.add(each)
    assert total == Spending(4, 4_000, 800, round(4 * ONE_CALL, 6))
