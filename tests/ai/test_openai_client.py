"""The client of chat completions over a loopback: the wire format, dialects of servers, and failures."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
import pytest
import structlog

from surveys.ai.claude.client import ProviderClient as ClaudeClient
from surveys.ai.models import schemas
from surveys.ai.openai import OpenAIProvider
from surveys.ai.openai import client as openai_client
from surveys.ai.openai.client import strict
from surveys.ai.provider import (
    AnalysisOverview,
    FollowUpRequest,
    Provider,
    ProviderError,
    ReferencedFigure,
    ResultsQuestion,
    RevisionRequest,
    ScriptRequest,
    TextBatch,
    TextReading,
    TextSample,
    TextTheme,
)
from surveys.api.examples import SCRIPT
from tests.support.ai.api_key import KEY
from tests.support.ai.drafted import SCHEMAS, violations_of
from tests.support.ai.loopback import ChatLoopback
from tests.support.ai.request_rules import mismatches, problems_with_strict_schema
from tests.support.cases import try_each
from tests.support.webhooks.raw_endpoint import Peer, RawEndpoint, ok

ROOT = Path(__file__).resolve().parents[2]
OVERVIEW = AnalysisOverview("Tea", completion_count=3, conversation_count=4, blocks=[])
SUMMARY = {"summary": "All is well."}
SECRET = "the words of the error"
IMPORTS = """
import sys
from surveys.ai.openai import OpenAIProvider
OpenAIProvider(model="m", api_key="key").close()
heavy = {"openai", "httpx2", "pydantic"} & sys.modules.keys()
sys.exit(f"loaded: {heavy}" if heavy else 0)
"""


def failure_of(chat: OpenAIProvider) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        chat.summarize_analysis(OVERVIEW)
    failure = raised.value
    assert SECRET not in "".join(traceback.format_exception(failure))
    assert KEY not in failure.message
    assert failure.message.endswith(".")
    return failure


def formats(server: ChatLoopback) -> list[str]:
    """The formats that were asked for, in order."""
    return [asked.body.get("response_format", {}).get("type", "text") for asked in server.requests]


# --- The wire -------------------------------------------------------------------------------------------


def test_the_sdk_is_not_loaded_before_the_first_request() -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }

    subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, env=environment, check=True)


def test_a_request_has_a_schema_a_key_and_data_apart_from_instructions(
    chat: OpenAIProvider, server: ChatLoopback
) -> None:
    server.queue(SUMMARY)

    assert chat.summarize_analysis(OVERVIEW) == "All is well."

    (asked,) = server.requests
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["model"] == "local-model"
    assert asked.body["max_tokens"] == 4_000
    assert asked.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "summary", "strict": True, "schema": schemas.SUMMARY},
    }
    assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]
    assert json.dumps(schemas.SUMMARY, separators=(",", ":")) in asked.system
    assert "Tea" not in asked.system
    assert '"name":"Tea"' in asked.prompt


@try_each("schema", SCHEMAS.values())
def test_our_schemas_are_valid_in_strict_mode(schema: dict[str, Any]) -> None:
    assert problems_with_strict_schema(strict(schema)) == []


def test_what_may_be_missing_may_be_null_in_strict_mode() -> None:
    entry = strict(schemas.ASSIGNMENT)["properties"]["texts"]["items"]

    assert entry["required"] == ["n", "themes", "sentiment", "quote"]
    assert mismatches({"n": 0, "themes": [], "sentiment": "none", "quote": None}, entry) == []


def test_every_method_works_with_an_improvising_server(chat: OpenAIProvider, server: ChatLoopback) -> None:
    provider: Provider = chat
    request = ScriptRequest("6 questions about tea", "convo")
    themes = provider.name_themes(TextSample("Why?", ["slow search", "search is bad"]))
    figures = [ReferencedFigure("b1.mean", "Average of tea", "4.5")]

    draft = provider.draft_script(request)

    assert violations_of(draft, request) == []
    assert themes == [TextTheme("Search", "Mentions search.")]
    assert provider.assign_themes(TextBatch("Why?", ["slow search"], themes)) == [
        TextReading((0,), "negative", "slow search")
    ]
    assert provider.answer_question(ResultsQuestion("What is the average of tea?", figures))
    assert provider.ask_further(FollowUpRequest("Why?", "Slow")) == "What do you mean by that?"
    assert provider.review_script(SCRIPT["blocks"], None) == []
    revised = provider.revise_script(RevisionRequest(SCRIPT["blocks"], "shorter", "convo"))
    assert [block["id"] for block in revised.blocks] == [41, 42]
    assert set(formats(server)) == {"json_schema"}


def test_requests_and_answers_fit_into_the_context_of_a_local_server(
    chat: OpenAIProvider, server: ChatLoopback
) -> None:
    chat.assign_themes(TextBatch("Why?", ["x" * 2_000] * chat.max_batch_size, [TextTheme("Slow")]))
    chat.name_themes(TextSample("Why?", ["x" * 2_000] * 300))
    chat.draft_script(ScriptRequest("Tea", "convo"))
    chat.revise_script(RevisionRequest(SCRIPT["blocks"], "shorter", "convo"))

    sizes = [
        (len(asked.system) + len(asked.prompt)) / 4 + asked.body["max_tokens"] for asked in server.requests
    ]
    assert len(sizes) == 5 + 3
    assert max(sizes) < 16_000


def test_openai_itself_reads_larger_batches() -> None:
    provider = OpenAIProvider(model="any", api_key=KEY)

    assert (provider.max_batch_size, provider.max_tokens) == (100, 16_000)


def test_a_server_without_a_key_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "another")
    with ChatLoopback(needs_key=False) as server:
        server.queue(SUMMARY)
        with OpenAIProvider(model="m", base_url=server.address) as chat:
            assert chat.summarize_analysis(OVERVIEW) == "All is well."

    (asked,) = server.requests
    assert "another" not in str(asked.headers)
    assert not {"authorization", "openai-organization", "openai-project"} & asked.headers.keys()


def test_the_loopback_refuses_what_real_servers_refuse(server: ChatLoopback) -> None:
    message = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "?"}]}
    loose = {"type": "object", "properties": {"a": {"type": "string"}}, "required": []}
    named = {"name": "a", "strict": True, "schema": loose}

    def status(headers: dict[str, str], **changes: object) -> int:
        address = f"{server.address}/chat/completions"
        return httpx2.post(address, headers=headers, json={**message, **changes}).status_code

    key = {"authorization": "Bearer key"}
    assert status({}) == 401
    assert status(key, messages=[]) == 400
    assert status(key, max_completion_tokens=1) == 400
    assert status(key, response_format={"type": "json_object"}) == 400  # nothing says JSON
    assert status(key, response_format={"type": "json_schema", "json_schema": named}) == 400
    assert (
        status(key, response_format={"type": "json_schema", "json_schema": {**named, "name": "a b"}}) == 400
    )


# --- Dialects -------------------------------------------------------------------------------------------


@try_each(
    ("known", "tried"),
    [
        (("json_schema", "json_object", "text"), ["json_schema"]),
        (("json_object", "text"), ["json_schema", "json_object"]),
        (("text",), ["json_schema", "json_object", "text"]),
    ],
)
def test_a_server_that_knows_no_schema_is_asked_more_simply_and_that_is_remembered(
    known: tuple[str, ...], tried: list[str]
) -> None:
    with ChatLoopback(formats=known) as server:
        server.default_to(SUMMARY)
        with OpenAIProvider(model="m", api_key=KEY, base_url=server.address) as chat:
            summaries = [chat.summarize_analysis(OVERVIEW) for _ in range(2)]

    assert summaries == ["All is well."] * 2
    assert formats(server) == [*tried, tried[-1]]
    assert all("It must match this JSON schema" in asked.system for asked in server.requests)


def test_a_request_that_no_format_helps_is_not_remembered(chat: OpenAIProvider, server: ChatLoopback) -> None:
    for _ in range(3):
        server.queue_error(400, "invalid_request_error", SECRET)
    server.queue(SUMMARY)

    assert "rejected the request" in failure_of(chat).message
    assert chat.summarize_analysis(OVERVIEW) == "All is well."

    assert formats(server) == ["json_schema", "json_object", "text", "json_schema"]


@try_each("limit", ["max_tokens", "max_completion_tokens"])
def test_the_limit_of_tokens_has_the_name_that_the_server_knows(limit: str) -> None:
    with ChatLoopback(limit=limit) as server:
        server.default_to(SUMMARY)
        with OpenAIProvider(model="m", api_key=KEY, base_url=server.address) as chat:
            chat.summarize_analysis(OVERVIEW)
            chat.summarize_analysis(OVERVIEW)

    assert [limit in asked.body for asked in server.requests][-2:] == [True, True]
    assert len(server.requests) == (2 if limit == "max_tokens" else 3)
    assert set(formats(server)) == {"json_schema"}


def test_a_server_that_always_names_both_limits_is_asked_a_few_times_only(
    chat: OpenAIProvider, server: ChatLoopback
) -> None:
    server.default_to_error(400, "invalid_request_error", "max_tokens or max_completion_tokens")

    failure_of(chat)

    assert len(server.requests) == 6


def test_openai_itself_gets_no_schema_in_words_and_the_newer_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatLoopback(limit="max_completion_tokens") as server:
        server.queue(SUMMARY)
        monkeypatch.setattr(openai_client, "DEFAULT_BASE_URL", server.address)
        with OpenAIProvider(model="m", api_key=KEY) as chat:
            chat.summarize_analysis(OVERVIEW)

    (asked,) = server.requests
    assert asked.body["max_completion_tokens"] == 4_000
    assert "JSON schema" not in asked.system


WRAPPED = [
    'Sure! Here it is:\n```json\n{"summary": "All is well."}\n```\nAnything else?',
    '<think>\nThe user wants {"summary"}.\n</think>\n\n{"summary": "All is well."}',
    '\n{"summary": "All is well."}  ',
    '{"summary": "All is well.", "more": null}',
]


@pytest.mark.parametrize("text", WRAPPED, ids=["fence", "thoughts", "space", "null"])
def test_an_object_is_found_in_what_a_model_writes_around_it(
    chat: OpenAIProvider, server: ChatLoopback, text: str
) -> None:
    server.queue_text(text)

    assert chat.summarize_analysis(OVERVIEW) == "All is well."
    assert len(server.requests) == 1


@pytest.mark.parametrize("wrong", ["All is well.", "", '{"summary": ["a"]}', '{"summary": "a'])
def test_an_answer_of_the_wrong_form_is_requested_once_more(
    chat: OpenAIProvider, server: ChatLoopback, wrong: str
) -> None:
    server.queue_text(wrong)
    server.queue(SUMMARY)

    assert chat.summarize_analysis(OVERVIEW) == "All is well."
    assert len(server.requests) == 2


# --- Failures -------------------------------------------------------------------------------------------


def test_an_account_without_money_is_for_the_operator(chat: OpenAIProvider, server: ChatLoopback) -> None:
    server.queue_error(429, "insufficient_quota", SECRET)

    assert "asks for payment" in failure_of(chat).message
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens.",
        "the request exceeds the available context size",
        "input exceeds context window",
    ],
)
def test_a_request_beyond_the_context_is_made_smaller(
    chat: OpenAIProvider, server: ChatLoopback, message: str
) -> None:
    server.queue_error(400, "invalid_request_error", message)

    readings = chat.assign_themes(TextBatch("Why?", ["aaa", "bbb"], [TextTheme("Slow")]))

    assert [read and read.quote for read in readings] == ["aaa", "bbb"]
    assert formats(server) == ["json_schema"] * 3


def test_neither_the_key_nor_an_answer_follows_a_redirect(chat: OpenAIProvider, server: ChatLoopback) -> None:
    """Rule 10.35."""
    with ChatLoopback() as other:
        location = f"{other.address}/chat/completions"
        for status in (301, 302, 307, 308):
            server.queue_raw(b"", status=status, headers={"location": location})
            assert "redirects to another one" in failure_of(chat).message

    assert other.requests == ()
    assert len(server.requests) == 4


def test_nobody_waits_for_a_second_attempt_at_a_further_question(
    chat: OpenAIProvider, server: ChatLoopback, pauses: list[float]
) -> None:
    server.queue_error(503, "overloaded")
    server.queue_text("What?")

    for words in ("failed to answer", "required form"):
        with pytest.raises(ProviderError, match=words):
            chat.ask_further(FollowUpRequest("Why?", "Slow"))

    assert len(server.requests) == 2
    assert pauses == []


# --- The log --------------------------------------------------------------------------------------------


def log_lines_of(chat: OpenAIProvider) -> Sequence[Mapping[str, Any]]:
    logger = structlog.get_logger("colloquy.ai")
    with structlog.testing.capture_logs() as log, patch("surveys.ai.models.client.log", logger):
        chat.summarize_analysis(OVERVIEW)
    return log


def test_a_request_is_logged_with_its_tokens_and_a_cost_that_is_not_known(
    chat: OpenAIProvider, server: ChatLoopback
) -> None:
    usage = {"prompt_tokens_details": {"cached_tokens": 900}}
    server.queue(SUMMARY, usage=usage)

    (line,) = log_lines_of(chat)

    logged = {
        key: line[key] for key in line.keys() - {"event", "log_level", "duration_ms", "cache_write_tokens"}
    }
    assert logged == {
        "provider": "openai",
        "model": "local-model",
        "purpose": "summary",
        "outcome": "answered",
        "attempts": 1,
        "provider_request_id": "req_loopback",
        "stop_reason": "stop",
        "input_tokens": 1_000,
        "output_tokens": 200,
        "cache_read_tokens": 900,
        "cost_usd": None,
    }


@pytest.mark.parametrize("fails", [False, True])
def test_no_log_level_brings_content_or_the_key_into_the_log(
    server: ChatLoopback, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    content = "Xanthippe says so"
    for name in ("", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
    if fails:
        server.default_to_error(400, "invalid_request_error", content)
    else:
        reading = {"n": 0, "themes": [0], "sentiment": "neutral", "quote": content}
        server.default_to({"texts": [reading]}, finish_reason=content)

    with OpenAIProvider(model="m", api_key=KEY, base_url=server.address) as chat:
        try:
            chat.assign_themes(TextBatch(content, [content], [TextTheme(content)]))
        except ProviderError:
            assert fails

    assert "ai.asked" in caplog.text
    assert "Xanthippe" not in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize("status", [200, 500])
def test_a_body_without_end_is_cut_off(status: int) -> None:
    """Rule 10.930."""

    def endless() -> Iterator[bytes]:
        while True:
            yield bytes(1_000_000)

    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, content=endless()))
    clients: tuple[Any, ...] = (openai_client.ChatClient, ClaudeClient)
    for made in clients:
        sdk = made(api_key=KEY, base_url=None)
        hooks = sdk._client._client.event_hooks
        sdk.close()
        client = httpx2.Client(transport=transport, event_hooks=hooks)
        with closing(client), pytest.raises(httpx2.ReadError, match="too long"):
            client.get("http://localhost")


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX-Slow: ", ok(bytes(9_999))[:100]])
def test_no_response_takes_longer_than_its_request_has(start: bytes) -> None:
    """Rule 10.970."""

    def one_byte_at_a_time(peer: Peer) -> None:
        peer.read_request()
        peer.send(ok())
        peer.read_request()  # on the same connection
        peer.send(start)
        while True:
            time.sleep(0.02)
            peer.send(b"a")

    clients: tuple[Any, ...] = (openai_client.ChatClient, ClaudeClient)
    for made in clients:
        with RawEndpoint(one_byte_at_a_time) as provider, closing(made(api_key=KEY, base_url=None)) as sdk:
            client = sdk._client._client
            assert client.post(provider.url, content=b"?").text == "ok"
            began = time.monotonic()
            with pytest.raises(httpx2.ReadTimeout):
                client.post(provider.url, content=b"?", timeout=0.3)
            assert time.monotonic() - began < 3
            assert provider.connections == 1
