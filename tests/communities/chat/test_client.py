"""Requests to the chat platform: their contents, failures and rate limits."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from django.test import override_settings
from requests import ConnectionError as ConnectionFailure

from communities.chat_platform import client, pacing
from communities.chat_platform.client import File, RateLimited, Refused, Unauthorized, Unreachable
from config.environment import ChatApplication
from tests.support.chat.loopback import Loopback
from tests.support.redis import without_redis

MESSAGES = "/channels/123456789012345678/messages"
OTHERS = "/channels/987654321098765432/messages"
SECRET = "an-interaction-token-that-nobody-else-may-know"
ORIGINAL = f"/webhooks/900000000000000001/{SECRET}/messages/@original"


@pytest.fixture
def loopback(settings, redis) -> Iterator[Loopback]:
    with Loopback() as loopback:
        settings.CHAT = ChatApplication("900000000000000001", "00", "the-bot-token", "secret", loopback.url)
        yield loopback


def _json(status: int, content: Any, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, json.dumps(content).encode(), {"Content-Type": "application/json", **named}


def test_a_request_says_who_sends_it_and_returns_the_answer(loopback: Loopback) -> None:
    loopback.answers = [_json(200, {"id": "5"})]

    answer = client.request("POST", MESSAGES, json={"content": "Hello"}, reason="Äpfel & more")

    [asked] = loopback.requests
    assert answer == {"id": "5"}
    assert (asked.method, asked.path, json.loads(asked.body)) == ("POST", MESSAGES, {"content": "Hello"})
    assert asked.headers["Authorization"] == "Bot the-bot-token"
    assert asked.headers["User-Agent"].startswith("DiscordBot (http")
    assert unquote(asked.headers["X-Audit-Log-Reason"]) == "Äpfel & more"


def test_an_answer_without_a_body_is_none(loopback: Loopback) -> None:
    loopback.answers = [(204, b"", {})]

    assert client.request("PUT", "/guilds/1/members/2/roles/3") is None


def test_a_path_with_a_token_of_its_own_gets_none_of_the_bot(loopback: Loopback) -> None:
    loopback.answers = [_json(200, {})]

    client.request("PATCH", ORIGINAL, json={}, as_bot=False)

    assert "Authorization" not in loopback.requests[0].headers


def test_files_are_sent_beside_the_json(loopback: Loopback) -> None:
    loopback.answers = [_json(200, {})]

    client.request("POST", MESSAGES, json={"content": "Look"}, files=[File("a.png", b"PNG", "image/png")])

    body = loopback.requests[0].body
    assert b'name="payload_json"' in body
    assert b'{"content": "Look"}' in body
    assert b'name="files[0]"; filename="a.png"' in body


def test_a_long_reason_is_cut_between_characters(loopback: Loopback) -> None:
    loopback.answers = [_json(200, {})]

    client.request("PUT", "/guilds/1/members/2/roles/3", reason="ü" * 1000)

    header = loopback.requests[0].headers["X-Audit-Log-Reason"]
    assert len(header) <= client.MOST_REASON
    assert unquote(header) == "ü" * (client.MOST_REASON // 6)


def test_connections_are_used_again(loopback: Loopback) -> None:
    loopback.answers = [_json(200, {}), _json(200, {})]

    for _ in range(2):
        client.request("GET", "/users/@me")

    assert loopback.connections == 1


@pytest.mark.parametrize(
    ("answer", "failure", "code"),
    [
        (_json(403, {"code": 50013, "message": "Missing Permissions"}), Refused, 50013),
        (_json(404, {"code": 10003, "message": "Unknown Channel"}), Refused, 10003),
        (_json(400, {"code": "odd"}), Refused, None),
        (_json(401, {"code": 0, "message": "401: Unauthorized"}), Unauthorized, 0),
        (_json(502, {}), Unreachable, None),
        ((200, b"<html>", {}), Unreachable, None),
        ((302, b"", {"Location": "http://127.0.0.1/"}), Unreachable, None),
    ],
)
def test_failures_have_types(
    loopback: Loopback, answer: Any, failure: type[client.PlatformError], code: int | None
) -> None:
    loopback.answers = [answer]

    with pytest.raises(failure) as failed:
        client.request("GET", "/guilds/1")

    assert failed.value.code == code


def test_a_refusal_names_the_field_that_is_wrong(loopback: Loopback) -> None:
    wrong = {"components": {"0": {"emoji": {"name": {"_errors": [{"code": "X"}]}}}}}
    loopback.answers = [_json(400, {"code": 50035, "message": "Invalid Form Body", "errors": wrong})]

    with pytest.raises(Refused) as failed:
        client.request("POST", MESSAGES, json={})

    assert failed.value.field == "components.0.emoji.name"


def test_no_answer_is_a_failure_of_its_own(loopback: Loopback) -> None:
    loopback.close()

    with pytest.raises(Unreachable, match="cannot be reached"):
        client.request("GET", "/guilds/1")


def test_without_an_application_nothing_is_sent(loopback: Loopback) -> None:
    with override_settings(CHAT=None), pytest.raises(Unreachable):
        client.request("GET", "/guilds/1")

    assert loopback.requests == []


def test_the_platforms_own_address_must_be_public(settings, loopback: Loopback) -> None:
    """This rule is the same for all host names, unless the operator sets another address."""
    from communities.ground import outgoing as connections  # noqa: PLC0415 - beside its use

    session = connections.session_of_bot("https://discord.com/api/v10")

    with pytest.raises(ConnectionFailure):
        session.get(loopback.url.replace("http://", "https://"))


# --- Rate limits ---


def test_an_empty_bucket_stops_its_own_channel_alone(loopback: Loopback) -> None:
    headers = {"X_RateLimit_Bucket": "abc", "X_RateLimit_Remaining": "0", "X_RateLimit_Reset_After": "4.5"}
    loopback.answers = [_json(200, {}, **headers), _json(200, {})]
    client.request("POST", MESSAGES, json={})

    with pytest.raises(RateLimited) as limited:
        client.request("POST", MESSAGES, json={})
    client.request("POST", OTHERS, json={})

    assert timedelta(seconds=3) < (limited.value.retry_after or timedelta()) <= timedelta(seconds=4.5)
    assert [each.path for each in loopback.requests] == [MESSAGES, OTHERS]


def test_requests_on_their_way_are_counted(loopback: Loopback) -> None:
    headers = {"X_RateLimit_Bucket": "abc", "X_RateLimit_Remaining": "1", "X_RateLimit_Reset_After": "60"}
    loopback.answers = [_json(200, {}, **headers), _json(200, {}, **headers)]
    client.request("POST", MESSAGES, json={})
    client.request("POST", MESSAGES, json={})  # this one takes what is left, whatever its answer says

    with pytest.raises(RateLimited):
        client.request("POST", MESSAGES, json={})


def test_routes_of_one_bucket_share_it(loopback: Loopback) -> None:
    one = {"X_RateLimit_Bucket": "abc", "X_RateLimit_Remaining": "5", "X_RateLimit_Reset_After": "60"}
    loopback.answers = [_json(200, {}, **one), _json(200, {}, **(one | {"X_RateLimit_Remaining": "0"}))]
    client.request("POST", MESSAGES, json={})
    client.request("PATCH", f"{MESSAGES}/1", json={})

    with pytest.raises(RateLimited):
        client.request("POST", MESSAGES, json={})


def test_a_refusal_stops_requests_of_its_kind_in_its_channel(loopback: Loopback) -> None:
    loopback.answers = [_json(429, {"retry_after": 2.5, "global": False}), _json(200, {}), _json(200, {})]
    with pytest.raises(RateLimited):
        client.request("POST", MESSAGES, json={})

    with pytest.raises(RateLimited):
        client.request("POST", MESSAGES, json={})
    client.request("POST", OTHERS, json={})
    client.request("GET", "/channels/123456789012345678")


def test_a_refusal_with_something_left_is_about_that_request_alone(loopback: Loopback) -> None:
    body = {"message": "You are being rate limited.", "retry_after": 7.25, "global": False, "code": 30046}
    loopback.answers = [_json(429, body, X_RateLimit_Remaining="3"), _json(200, {})]

    with pytest.raises(RateLimited) as limited:
        client.request("PATCH", f"{MESSAGES}/1", json={})
    client.request("PATCH", f"{MESSAGES}/2", json={})

    assert (limited.value.retry_after, limited.value.code) == (timedelta(seconds=7.25), 30046)


@pytest.mark.parametrize(
    "answer",
    [
        _json(429, {"retry_after": 30.0, "global": True}),
        (429, b"<html>banned</html>", {"Retry-After": "30"}),
    ],
)
def test_a_limit_of_all_stops_all_traffic(loopback: Loopback, answer: Any) -> None:
    loopback.answers = [answer]
    with pytest.raises(RateLimited):
        client.request("POST", MESSAGES, json={})

    for path, as_bot in ((OTHERS, True), (ORIGINAL, False)):
        with pytest.raises(RateLimited):
            client.request("POST", path, json={}, as_bot=as_bot)

    assert len(loopback.requests) == 1


def test_a_refused_token_stops_the_bot_for_some_minutes_and_another_does_not(
    loopback: Loopback, redis, settings
) -> None:
    loopback.answers = [_json(401, {"code": 0}), _json(200, {}), _json(200, {})]
    with pytest.raises(Unauthorized):
        client.request("GET", "/guilds/1")

    with pytest.raises(Unreachable, match="refused the bot’s token") as stopped:
        client.request("GET", "/guilds/2")
    client.request("PATCH", ORIGINAL, json={}, as_bot=False)
    settings.CHAT = dataclasses.replace(settings.CHAT, bot_token="another-token")
    client.request("GET", "/guilds/3")  # at once

    assert timedelta(minutes=4) < (stopped.value.retry_after or timedelta()) <= pacing.CIRCUIT_OPEN
    assert len(loopback.requests) == 3


def test_a_dead_token_of_an_interaction_says_nothing_about_the_bots(loopback: Loopback) -> None:
    loopback.answers = [_json(401, {"code": 50027}), _json(200, {})]
    with pytest.raises(Unauthorized):
        client.request("PATCH", ORIGINAL, json={}, as_bot=False)

    client.request("GET", "/guilds/1")


def test_the_bot_stays_below_the_limit_of_a_second(loopback: Loopback, monkeypatch) -> None:
    monkeypatch.setattr(pacing, "PER_SECOND", 2)
    loopback.answers = [_json(200, {})] * 3
    client.request("GET", "/guilds/1")
    client.request("GET", "/guilds/2")

    with pytest.raises(RateLimited) as limited:
        client.request("GET", "/guilds/3")
    client.request("PATCH", ORIGINAL, json={}, as_bot=False)  # does not count

    assert timedelta() < (limited.value.retry_after or timedelta()) <= timedelta(seconds=1)


def test_without_redis_requests_go_out(loopback: Loopback) -> None:
    headers = {"X_RateLimit_Bucket": "abc", "X_RateLimit_Remaining": "0", "X_RateLimit_Reset_After": "60"}
    loopback.answers = [_json(200, {}, **headers), _json(200, {})]

    with without_redis():
        for _ in range(2):
            client.request("POST", MESSAGES, json={})

    assert len(loopback.requests) == 2


# --- Secrets ---


def test_neither_logs_nor_redis_hold_tokens_or_bodies(loopback: Loopback, redis, caplog) -> None:
    headers = {"X_RateLimit_Bucket": "abc", "X_RateLimit_Remaining": "4", "X_RateLimit_Reset_After": "60"}
    loopback.answers = [_json(200, {}, **headers), _json(401, {"code": 0}), _json(200, {})]

    client.request("PATCH", ORIGINAL, json={"content": "nobody else may read this"}, as_bot=False)
    with pytest.raises(Unauthorized):
        client.request("GET", "/guilds/1")

    kept = [key + (redis.get(key) or b"") for key in redis.keys("*")]
    assert any(b"bucket" in each for each in kept)
    for secret in (SECRET, "the-bot-token", "nobody else"):
        assert secret not in caplog.text
        assert all(secret.encode() not in each for each in kept)


def test_an_application_does_not_show_its_secrets(settings, loopback: Loopback) -> None:
    assert "the-bot-token" not in repr(settings.CHAT)
    assert dataclasses.replace(settings.CHAT, client_secret="hidden-one").client_secret == "hidden-one"
    assert "hidden-one" not in repr(dataclasses.replace(settings.CHAT, client_secret="hidden-one"))


def test_edits_leave_a_part_of_each_second_to_posts(loopback: Loopback, monkeypatch) -> None:
    monkeypatch.setattr(pacing, "PER_SECOND", 4)
    monkeypatch.setattr(pacing, "EDITS_PER_SECOND", 2)
    loopback.answers = [_json(200, {})] * 4
    for n in (1, 2):
        client.request("PATCH", f"{MESSAGES}/{n}", json={})

    with pytest.raises(RateLimited):
        client.request("PATCH", f"{MESSAGES}/3", json={})
    client.request("POST", OTHERS, json={})
    client.request("PUT", "/guilds/1/members/2/roles/3")

    assert len(loopback.requests) == 4


def test_edits_yield_while_posts_wait(loopback: Loopback, monkeypatch, redis) -> None:
    monkeypatch.setattr(pacing, "PER_SECOND", 1)
    loopback.answers = [_json(200, {})] * 9
    client.request("POST", OTHERS, json={})
    with pytest.raises(RateLimited):
        client.request("POST", MESSAGES, json={})
    monkeypatch.setattr(pacing, "PER_SECOND", 9)

    with pytest.raises(RateLimited) as limited:
        client.request("PATCH", f"{MESSAGES}/1", json={})
    client.request("POST", MESSAGES, json={})

    assert timedelta() < (limited.value.retry_after or timedelta()) <= pacing.YIELDING


def test_whether_a_request_would_have_to_wait_is_asked_without_counting_it(
    loopback: Loopback, monkeypatch
) -> None:
    monkeypatch.setattr(pacing, "PER_SECOND", 1)
    loopback.answers = [_json(200, {})]
    for _ in range(3):
        client.require_pace("POST", MESSAGES)
    client.request("POST", MESSAGES, json={})

    with pytest.raises(RateLimited):
        client.require_pace("POST", MESSAGES)
    assert len(loopback.requests) == 1


def test_questions_that_callers_cause_are_counted(redis) -> None:
    period = timedelta(minutes=1)

    assert [pacing.take("look-ups:1", 2, period) for _ in range(3)] == [True, True, False]
    assert pacing.take("look-ups:2", 2, period)
    with without_redis():
        assert not pacing.take("look-ups:3", 2, period)
