"""What Prometheus asks for: how requests went, in all web processes, and how the queues and the outbox stand.

Each web process writes its part into a file of its own (config/gunicorn.py names the folder), and whichever
is asked adds up the files. Queues and rows are looked at when somebody asks.
"""

from __future__ import annotations

import hmac
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, partial

import structlog
from django.conf import settings
from django.core.cache import cache as shared
from django.core.exceptions import MiddlewareNotUsed
from django.db import Error as DatabaseFailure
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from kombu.exceptions import KombuError
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from communities.http import throttling
from config import queues
from webhooks.services import metrics as webhook_metrics

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds
SECONDS_TO_KEEP_DELIVERED = 60

log = structlog.get_logger("colloquy.metrics")

of_this_process = CollectorRegistry()
durations = Histogram(
    "colloquy_http_request_duration_seconds",
    "How long requests took, until the last byte was given to the web server.",
    ["method", "route", "status"],
    buckets=BUCKETS,
    registry=of_this_process,
)
let_through = Counter(
    "colloquy_rate_limit_calls_let_through_total",
    "Calls that were not limited, because Redis was away.",
    registry=of_this_process,
)


# Counting


class MetricsMiddleware:
    """Counts every request; the outermost layer, so that what other layers refuse counts too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.METRICS:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun = time.perf_counter()
        response = self.get_response(request)
        count = partial(_count, request, response.status_code, begun)
        if response.streaming:
            # Called once the last part is sent, or nobody takes it.
            response._resource_closers.append(count)  # type: ignore[attr-defined]
        else:
            count()
        return response


def _count(request: HttpRequest, status: int, begun: float) -> None:
    seconds = time.perf_counter() - begun
    method = request.method if request.method in METHODS else "other"
    match = request.resolver_match
    _durations_of(method, "unknown" if match is None else match.route or "/", status).observe(seconds)
    if throttling.outage.calls_let_through != _outage.told:
        _outage.tell(throttling.outage.calls_let_through)


@cache
def _durations_of(method: str, route: str, status: int) -> Histogram:
    """Found anew each time it would cost twice as much; there are as many as routes can answer statuses."""
    return durations.labels(method, route, status)


class _Outage:
    """How many of the calls that the limiter let through are told already."""

    def __init__(self) -> None:
        self.told = 0
        self._lock = threading.Lock()

    def tell(self, calls: int) -> None:
        with self._lock:
            if calls > self.told:
                let_through.inc(calls - self.told)
                self.told = calls


_outage = _Outage()


# Telling


@csrf_exempt
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    """All figures in Prometheus' text format: 404 where METRICS is off, 401 for who lacks METRICS_TOKEN."""
    if not settings.METRICS:
        raise Http404
    return _page(request)


@require_safe
def _page(request: HttpRequest) -> HttpResponse:
    if settings.METRICS_TOKEN is not None and not _knows_token(request):
        return HttpResponse(
            "The metrics are told to those who send METRICS_TOKEN, as `Authorization: Bearer <token>`.\n",
            status=401,
            content_type="text/plain; charset=utf-8",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return HttpResponse(render(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _knows_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    # Both are compared, so that the time it takes tells nothing.
    is_right = hmac.compare_digest(token.strip().encode(), str(settings.METRICS_TOKEN).encode())
    return is_right and scheme.lower() == "bearer"


def render() -> bytes:
    """Everything that is known now; what cannot be asked at the moment is left out."""
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry.register(of_this_process)
    registry.register(_Servers())
    return generate_latest(registry)


class _Servers(Collector):
    """What is looked up in database and broker when somebody asks."""

    def collect(self) -> Iterator[Metric]:
        yield from _told_by(_of_broker, "colloquy_broker_up", "Whether the broker of the worker answers.")
        yield from _told_by(_of_database, "colloquy_database_up", "Whether the database answers.")


def _told_by(look: Callable[[], list[Metric]], name: str, words: str) -> Iterator[Metric]:
    try:
        found = look()
    except (DatabaseFailure, KombuError, RedisError, OSError) as failure:
        log.warning("metrics.left_out", without=name, cause=type(failure).__name__)
        yield GaugeMetricFamily(name, words, 0)
        return
    yield GaugeMetricFamily(name, words, 1)
    yield from found


def _of_broker() -> list[Metric]:
    messages = GaugeMetricFamily(
        "colloquy_queue_messages", "Messages that wait for a worker.", labels=["queue"]
    )
    ages = GaugeMetricFamily(
        "colloquy_queue_oldest_message_age_seconds",
        "How long the oldest message has waited; 0 where none waits.",
        labels=["queue"],
    )
    for queue in queues.waiting():
        messages.add_metric([queue.name], queue.messages)
        ages.add_metric([queue.name], queue.seconds_of_oldest)
    return [messages, ages]


def _of_database() -> list[Metric]:
    outbox = webhook_metrics.outbox(at=timezone.now())
    deliveries = GaugeMetricFamily(
        "colloquy_webhook_deliveries",
        "Deliveries by status; delivered ones as of a minute.",
        labels=["status"],
    )
    for status, count in {**outbox.not_delivered, **_delivered()}.items():
        deliveries.add_metric([status], count)
    webhooks = GaugeMetricFamily(
        "colloquy_webhooks", "Webhooks: on, off, and switched off by the service.", labels=["state"]
    )
    for state, count in outbox.webhooks.items():
        webhooks.add_metric([state], count)
    due = GaugeMetricFamily(
        "colloquy_webhook_deliveries_due", "Deliveries that could be sent at once.", outbox.due
    )
    oldest = GaugeMetricFamily(
        "colloquy_webhook_oldest_undelivered_event_age_seconds",
        "Age of the oldest event that a webhook which is on has yet to take; 0 where there is none.",
        outbox.oldest_age_seconds,
    )
    return [deliveries, due, oldest, webhooks]


def _delivered() -> dict[str, int]:
    """Counted once a minute for all processes, as it reads the whole table; left out where Redis is away."""
    try:
        count = shared.get_or_set(
            "metrics:delivered", webhook_metrics.delivered_count, timeout=SECONDS_TO_KEEP_DELIVERED
        )
    except (RedisError, OSError):
        return {}
    return {"delivered": int(count or 0)}
