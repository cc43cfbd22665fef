"""The metrics of one process."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.core.cache import cache
from django.core.exceptions import MiddlewareNotUsed
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings
from redis.exceptions import RedisError

from communities.gate import throttling
from communities.services.chat import outbox
from config import metrics, queues
from config.metrics import MetricsMiddleware
from surveys.ai import spending
from surveys.ai.spending import Spending
from tests.factories import CommunityFactory
from tests.support.metrics import DURATION, Samples, parse_samples, value
from tests.support.webhooks.outbox import create_delivery, create_webhook, unsaved_event
from webhooks.services import metrics as webhook_metrics

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture
def on(settings: Settings) -> None:
    settings.METRICS = True


def current() -> Samples:
    return parse_samples(metrics.render().decode())


def counted(method: str, route: str, status: int) -> float:
    return value(current(), f"{DURATION}_count", method=method, route=route, status=status) or 0


# Access


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_the_page_does_not_exist_if_metrics_are_off(method: str) -> None:
    absent = Client().generic(method, "/nothing")

    response = Client().generic(method, "/metrics", headers={"Authorization": "Bearer secret"})

    assert response.status_code == absent.status_code == 404
    assert response.content.replace(b"/metrics", b"/nothing") == absent.content


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    ("bind", "proxies", "status"),
    [
        *((host, 0, 200) for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost")),
        *((host, 0, 401) for host in ("0.0.0.0", "::", "192.0.2.1", "surveys.example.org")),
        ("127.0.0.1", 1, 401),
    ],
)
def test_other_machines_need_a_token_and_without_one_get_nothing(
    settings: Settings, bind: str, proxies: int, status: int
) -> None:
    settings.BIND, settings.TRUSTED_PROXIES, settings.METRICS_TOKEN = bind, proxies, None

    without = Client().get("/metrics", headers={"Authorization": "Bearer None"})
    settings.METRICS_TOKEN = "s3cret"
    with_token = Client().get("/metrics", headers={"Authorization": "Bearer s3cret"})

    assert (without.status_code, with_token.status_code) == (status, 200)
    assert (b"colloquy_" in without.content) == (status == 200)
    assert (b"METRICS_TOKEN" in without.content) == (status == 401)


@pytest.mark.usefixtures("on")
def test_this_machine_can_read_them_without_a_token_in_the_text_format() -> None:
    response = Client().get("/metrics")

    families = list(text_string_to_metric_families(response.content.decode()))
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "no-store" in response.headers["Cache-Control"]
    assert all(family.name.startswith("colloquy_") and family.documentation for family in families)


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    "sent",
    [{}, *({"Authorization": text} for text in ("Bearer wrong", "Bearer é", "Basic s3cret", "s3cret", ""))],
)
def test_a_request_without_the_right_token_is_refused(settings: Settings, sent: dict[str, str]) -> None:
    settings.METRICS_TOKEN = "s3cret"

    response = Client().get("/metrics", headers=sent)

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert b"colloquy_" not in response.content


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("sent", ["Bearer s3cret", "bearer s3cret"])
def test_a_request_with_the_right_token_is_answered(settings: Settings, sent: str) -> None:
    settings.METRICS_TOKEN = "s3cret"

    response = Client().get("/metrics", headers={"Authorization": sent})

    assert response.status_code == 200


@pytest.mark.usefixtures("on")
def test_scrapers_inside_the_network_need_no_tls_and_are_not_rate_limited(
    settings: Settings,
) -> None:
    settings.SECURE_SSL_REDIRECT = True

    responses = [Client().get("/metrics") for _ in range(61)]

    assert {response.status_code for response in responses} == {200}
    assert not any("X-RateLimit-Limit" in response for response in responses)


# Requests


@pytest.mark.usefixtures("on")
def test_requests_are_counted_by_method_route_and_status() -> None:
    before = counted("GET", "v1/communities/<id:community_id>/projects", 401)

    Client().get("/v1/communities/710000000000000001/projects")

    assert counted("GET", "v1/communities/<id:community_id>/projects", 401) == before + 1
    assert "710000000000000001" not in metrics.render().decode()


@pytest.mark.usefixtures("on")
def test_a_path_without_a_route_counts_as_unknown_and_an_invalid_method_as_other() -> None:
    before = counted("GET", "unknown", 404), counted("other", "healthz", 405)

    Client().get("/nothing-of-ours")
    Client().generic("BREW", "/healthz")

    assert (counted("GET", "unknown", 404), counted("other", "healthz", 405)) == (
        before[0] + 1,
        before[1] + 1,
    )
    assert "nothing-of-ours" not in metrics.render().decode()
    assert "BREW" not in metrics.render().decode()


@pytest.mark.usefixtures("on")
def test_a_stream_counts_after_its_last_chunk() -> None:
    def stream(request: HttpRequest) -> Any:
        return StreamingHttpResponse(iter([b"one", b"two"]), status=206)

    before = counted("GET", "unknown", 206)
    response: Any = MetricsMiddleware(stream)(RequestFactory().get("/"))

    parts = list(response)
    while_open = counted("GET", "unknown", 206)
    response.close()

    assert parts == [b"one", b"two"]
    assert while_open == before
    assert counted("GET", "unknown", 206) == before + 1


def test_the_middleware_is_not_used_if_metrics_are_off() -> None:
    with pytest.raises(MiddlewareNotUsed):
        MetricsMiddleware(lambda request: HttpResponse())


@pytest.mark.usefixtures("on")
def test_calls_that_were_not_rate_limited_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttling, "outage", throttling.Outage())
    Client().get("/healthz")
    before = value(current(), "colloquy_rate_limit_calls_let_through_total")
    assert before is not None

    for _ in range(3):
        throttling.outage.let_through(60)
    Client().get("/healthz")
    Client().get("/healthz")

    assert value(current(), "colloquy_rate_limit_calls_let_through_total") == before + 3


# Queues


def test_queues_have_a_length_and_the_age_of_their_oldest_message(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_800_000_000.0
    monkeypatch.setattr(queues, "_now", lambda: now)
    for seconds in (90, 30):
        monkeypatch.setattr(queues, "_now", lambda seconds=seconds: now - seconds)
        current_app.send_task(
            "webhooks.deliver", kwargs={"webhook_id": 1, "partition": 0}, ignore_result=True
        )
    monkeypatch.setattr(queues, "_now", lambda: now)

    samples = current()

    assert value(samples, "colloquy_broker_up") == 1
    assert value(samples, "colloquy_queue_messages", queue="webhooks") == 2
    assert value(samples, "colloquy_queue_oldest_message_age_seconds", queue="webhooks") == 90
    assert value(samples, "colloquy_queue_messages", queue="celery") == 0
    assert value(samples, "colloquy_queue_oldest_message_age_seconds", queue="celery") == 0


def test_a_message_of_another_program_counts_without_an_age(redis: Any) -> None:
    redis.rpush("celery", '{"body": "", "headers": {}}', "not even JSON")

    samples = current()

    assert value(samples, "colloquy_queue_messages", queue="celery") == 2
    assert value(samples, "colloquy_queue_oldest_message_age_seconds", queue="celery") == 0


def test_without_the_broker_all_other_metrics_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setattr(current_app.conf, "broker_read_url", f"redis://127.0.0.1:{port}/0")

    samples = current()

    assert value(samples, "colloquy_broker_up") == 0
    assert value(samples, "colloquy_queue_messages", queue="celery") is None
    assert value(samples, "colloquy_database_up") == 1


# Rows


def test_the_outbox_has_metrics() -> None:
    webhook = create_webhook()
    create_delivery(webhook, unsaved_event(), status="delivered", due_at=None)
    create_delivery(webhook, unsaved_event())

    samples = current()

    by_status = {
        status: value(samples, "colloquy_webhook_deliveries", status=status)
        for status in ("pending", "delivered", "failed", "abandoned")
    }
    assert by_status == {"pending": 1, "delivered": 1, "failed": 0, "abandoned": 0}
    assert value(samples, "colloquy_webhook_deliveries_due") == 1
    assert (value(samples, "colloquy_webhook_oldest_undelivered_event_age_seconds") or 0) > 0
    assert value(samples, "colloquy_webhooks", state="on") == 1


def test_what_waits_for_the_chat_platform_has_metrics() -> None:
    earlier = timezone.now() - timedelta(minutes=5)
    outbox.put(community_id=CommunityFactory.create().pk, kind="xp.grant_role", subject="1", at=earlier)

    samples = current()

    assert value(samples, "colloquy_chat_tasks", status="pending") == 1
    assert value(samples, "colloquy_chat_tasks", status="abandoned") == 0
    assert value(samples, "colloquy_chat_tasks_due") == 1
    assert 300 <= (value(samples, "colloquy_chat_oldest_due_task_age_seconds") or 0) < 360


def test_calls_to_a_model_have_metrics_of_their_tokens_and_cost(settings: Settings) -> None:
    """Rule 10.34."""
    labels = {"provider": "anthropic", "model": "a_b", "purpose": "summary"}
    call: dict[str, Any] = {**labels, "model": "a|b", "outcome": "answered", "cached_tokens": 400}
    spending.record(Spending(1, 1_000, 50, 0.25), **call)
    settings.METRICS = True
    for cost in (0.5, 0.125, None):
        spending.record(Spending(1, 1_000, 50, cost), **call)

    samples = current()

    assert value(samples, "colloquy_model_calls_total", **labels, outcome="answered") == 3
    assert value(samples, "colloquy_model_tokens_total", **labels, kind="input") == 1_800
    assert value(samples, "colloquy_model_tokens_total", **labels, kind="cached") == 1_200
    assert value(samples, "colloquy_model_tokens_total", **labels, kind="output") == 150
    assert value(samples, "colloquy_model_cost_usd_total", **labels) == 0.625


def test_without_redis_a_call_to_a_model_is_made_and_the_page_has_everything_else(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.METRICS = True
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings.REDIS_URL = f"redis://127.0.0.1:{taken.getsockname()[1]}/0"

    with spending.measure() as spent:
        spending.record(
            Spending(1, 10, 5, 0.1),
            provider="p",
            model="m",
            purpose="summary",
            outcome="answered",
            cached_tokens=0,
        )

    assert spent == Spending(1, 10, 5, 0.1)
    assert metrics._model_metrics() == []


def test_delivered_deliveries_are_counted_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    first = value(current(), "colloquy_webhook_deliveries", status="delivered")
    monkeypatch.setattr(webhook_metrics, "delivered_count", pytest.fail)

    again = value(current(), "colloquy_webhook_deliveries", status="delivered")

    assert first == again == 0


def test_without_redis_delivered_deliveries_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RedisError

    monkeypatch.setattr(cache, "get_or_set", fail)

    samples = current()

    assert value(samples, "colloquy_webhook_deliveries", status="delivered") is None
    assert value(samples, "colloquy_webhook_deliveries", status="pending") == 0


def test_without_the_database_all_other_metrics_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise OperationalError

    monkeypatch.setattr(webhook_metrics, "outbox", fail)

    samples = current()

    assert value(samples, "colloquy_database_up") == 0
    assert value(samples, "colloquy_webhooks", state="on") is None
    assert value(samples, "colloquy_broker_up") == 1


def test_two_threads_that_count_one_outage_count_each_call_once() -> None:
    outage = metrics._UnlimitedCalls()
    before = metrics.unlimited_calls._value.get()

    for calls in (5, 7, 6, 7):  # one read 7 and another 6, and they came in this order
        outage.count(calls)

    assert metrics.unlimited_calls._value.get() - before == 7
