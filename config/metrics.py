"""Metrics for Prometheus: the requests of all web processes, the queues and the webhook outbox.

Each web process writes its counters to its own file (config/web/gunicorn.py sets the folder), and the process
that replaces it continues the file. The process that answers a scrape adds up the files. Queues and database
rows are counted during the scrape.
"""

from __future__ import annotations

import hmac
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

import structlog
from django.conf import settings
from django.core.cache import cache as shared_cache
from django.core.exceptions import MiddlewareNotUsed
from django.db import Error as AnyDatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from kombu.exceptions import KombuError
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from communities.gate import throttling
from communities.ground import replica
from communities.services.chat import metrics as chat_metrics
from config import environment, queues
from surveys.ai import spending
from webhooks.services import metrics as webhook_metrics

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The upper bounds of durations in seconds.
BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SECONDS_TO_CACHE_DELIVERED = 60

log = structlog.get_logger("colloquy.metrics")

if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
    # By default each process would leave a file behind, and web processes are replaced regularly.
    values.ValueClass = values.MultiProcessValue(lambda: os.environ.get("COLLOQUY_WEB_SLOT", "first"))  # type: ignore[no-untyped-call]

process_registry = CollectorRegistry()
durations = Histogram(
    "colloquy_http_request_duration_seconds",
    "Duration of requests, until the web server has the last byte of the response.",
    ["method", "route", "status"],
    buckets=BUCKETS,
    registry=process_registry,
)
unlimited_calls = Counter(
    "colloquy_rate_limit_calls_let_through_total",
    "Calls that were not rate limited because Redis was unavailable.",
    registry=process_registry,
)


# Counting


class MetricsMiddleware:
    """Counts every request. It is the outermost middleware, so that refusals of other layers are counted,
    too.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.METRICS:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self.get_response(request)
        count = partial(_count, request, response.status_code, started)
        if response.streaming:
            # Django calls `count` after the last chunk, or when the client disconnects.
            response._resource_closers.append(count)  # type: ignore[attr-defined]
        else:
            count()
        return response


def _count(request: HttpRequest, status: int, started: float) -> None:
    seconds = time.perf_counter() - started
    method = request.method if request.method in METHODS else "other"
    match = request.resolver_match
    _histogram(method, "unknown" if match is None else match.route or "/", status).observe(seconds)
    if throttling.outage.calls_let_through != _unlimited_calls.counted:
        _unlimited_calls.count(throttling.outage.calls_let_through)


@cache
def _histogram(method: str, route: str, status: int) -> Histogram:
    """Return the histogram of these labels. The cache halves the cost, and is limited by the number of
    routes.
    """
    return durations.labels(method, route, status)


class _UnlimitedCalls:
    """Copies the rate limiter's total to the counter; `counted` is the total at the last copy."""

    def __init__(self) -> None:
        self.counted = 0
        self._lock = threading.Lock()

    def count(self, total: int) -> None:
        with self._lock:
            if total > self.counted:
                unlimited_calls.inc(total - self.counted)
                self.counted = total


_unlimited_calls = _UnlimitedCalls()


# The page


@csrf_exempt
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    """Return all metrics in Prometheus' text format; 404 if METRICS is off, 401 without the METRICS_TOKEN.

    Only a site that other machines cannot reach, directly or through a proxy, may have no token.
    """
    if not settings.METRICS:
        raise Http404
    return _page(request)


@require_safe
def _page(request: HttpRequest) -> HttpResponse:
    if not (_is_for_this_machine() if settings.METRICS_TOKEN is None else _has_token(request)):
        return HttpResponse(
            "The site has no METRICS_TOKEN, without which metrics are served to this machine only: set one.\n"
            if settings.METRICS_TOKEN is None
            else "Send METRICS_TOKEN as `Authorization: Bearer <token>` to read the metrics.\n",
            status=401,
            content_type="text/plain; charset=utf-8",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return HttpResponse(render(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _is_for_this_machine() -> bool:
    return environment.is_this_machine(settings.BIND) and not settings.TRUSTED_PROXIES


def _has_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    # The comparison takes constant time, so that the duration reveals nothing about the token.
    is_right = hmac.compare_digest(token.strip().encode(), str(settings.METRICS_TOKEN).encode())
    return is_right and scheme.lower() == "bearer"


def render() -> bytes:
    """All metrics. Metrics of a database or broker that does not answer are left out."""
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(process_registry)
    registry.register(_ServerCollector())
    return generate_latest(registry)


class _ServerCollector(Collector):
    """Metrics that are read from the database and the broker during the scrape."""

    def collect(self) -> Iterator[Metric]:
        yield from _collect(_broker_metrics, "colloquy_broker_up", "Whether the workers' broker answers.")
        yield from _model_metrics()
        yield from _collect(_database_metrics, "colloquy_database_up", "Whether the database answers.")
        if replica.is_set():
            yield from _replica_metrics()


def _collect(read: Callable[[], list[Metric]], name: str, description: str) -> Iterator[Metric]:
    """Yield the gauge `name`, which is 1 or 0 for whether the server answers. If it answers, yield its
    metrics, too.
    """
    try:
        metrics = read()
    except (AnyDatabaseError, KombuError, RedisError, OSError) as error:
        log.warning("metrics.left_out", without=name, cause=type(error).__name__)
        yield GaugeMetricFamily(name, description, 0)
        return
    yield GaugeMetricFamily(name, description, 1)
    yield from metrics


def _broker_metrics() -> list[Metric]:
    messages = GaugeMetricFamily(
        "colloquy_queue_messages", "Messages waiting for a worker.", labels=["queue"]
    )
    ages = GaugeMetricFamily(
        "colloquy_queue_oldest_message_age_seconds",
        "Age of the oldest message, 0 if the queue is empty.",
        labels=["queue"],
    )
    for queue in queues.measure():
        messages.add_metric([queue.name], queue.messages)
        ages.add_metric([queue.name], queue.oldest_age)
    return [messages, ages]


def _model_metrics() -> list[Metric]:
    """Return the counters of calls to a model, which workers store in Redis; no counters if Redis is
    unavailable.
    """
    try:
        totals = spending.totals()
    except (RedisError, OSError):
        return []
    call = ["provider", "model", "purpose"]
    kinds: list[tuple[str, str, list[str], Mapping[tuple[str, ...], float]]] = [
        ("colloquy_model_calls", "Calls to a model.", [*call, "outcome"], totals.calls),
        ("colloquy_model_tokens", "Tokens of calls to a model.", [*call, "kind"], totals.tokens),
        (
            "colloquy_model_cost_usd",
            "US dollars for calls to models whose prices are known.",
            call,
            totals.costs,
        ),
        (
            "colloquy_follow_ups",
            "Further questions that were asked, or for some reason were not.",
            ["outcome"],
            totals.follow_ups,
        ),
    ]
    metrics: list[Metric] = []
    for name, description, labels, values_by_labels in kinds:
        counter = CounterMetricFamily(name, description, labels=labels)
        for each, total in sorted(values_by_labels.items()):
            counter.add_metric(each, total)
        metrics.append(counter)
    return metrics


def _database_metrics() -> list[Metric]:
    outbox = webhook_metrics.outbox(at=timezone.now())
    deliveries = GaugeMetricFamily(
        "colloquy_webhook_deliveries",
        "Deliveries by status; the number of delivered ones is up to a minute old.",
        labels=["status"],
    )
    for status, count in {**outbox.not_delivered, **_delivered()}.items():
        deliveries.add_metric([status], count)
    webhooks = GaugeMetricFamily(
        "colloquy_webhooks", "Webhooks by state: on, off, or disabled by the service.", labels=["state"]
    )
    for state, count in outbox.webhooks.items():
        webhooks.add_metric([state], count)
    due = GaugeMetricFamily("colloquy_webhook_deliveries_due", "Deliveries that are due now.", outbox.due)
    oldest = GaugeMetricFamily(
        "colloquy_webhook_oldest_undelivered_event_age_seconds",
        "Age of the oldest event not yet delivered to an active webhook, 0 if there is none.",
        outbox.oldest_age_seconds,
    )
    return [deliveries, due, oldest, webhooks, *_chat_metrics()]


def _replica_metrics() -> list[Metric]:
    """How far the replica is behind at this moment. A lag of few bytes is usual."""
    lag = replica.measure()
    is_up = lag.state in (replica.State.OK, replica.State.LAGGING)
    metrics: list[Metric] = [
        GaugeMetricFamily("colloquy_replica_up", "Whether the replica answers as a replica.", is_up)
    ]
    if lag.bytes is not None:
        metrics.append(GaugeMetricFamily("colloquy_replica_lag_bytes", "Log not yet replayed.", lag.bytes))
    if lag.seconds is not None:
        words = "Age of the last commit that was replayed, 0 if none is missing."
        metrics.append(GaugeMetricFamily("colloquy_replica_lag_seconds", words, lag.seconds))
    return metrics


def _chat_metrics() -> list[Metric]:
    outbox = chat_metrics.outbox(at=timezone.now())
    tasks = GaugeMetricFamily(
        "colloquy_chat_tasks", "What has to be done on the chat platform, by status.", labels=["status"]
    )
    for status, count in outbox.tasks.items():
        tasks.add_metric([status], count)
    due = GaugeMetricFamily("colloquy_chat_tasks_due", "Tasks of the chat platform due now.", outbox.due)
    oldest = GaugeMetricFamily(
        "colloquy_chat_oldest_due_task_age_seconds",
        "For how long the first of them is due, 0 if there is none.",
        outbox.oldest_due_seconds,
    )
    return [tasks, due, oldest]


def _delivered() -> dict[str, int]:
    """The number of delivered deliveries, counted once a minute for all processes, because it reads the whole
    table.

    Returns no counts if Redis is unavailable.
    """
    try:
        count = shared_cache.get_or_set(
            "metrics:delivered", webhook_metrics.delivered_count, timeout=SECONDS_TO_CACHE_DELIVERED
        )
    except (RedisError, OSError):
        return {}
    return {"delivered": count} if isinstance(count, int) else {}
