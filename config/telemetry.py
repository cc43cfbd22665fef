"""Traces for OpenTelemetry: a span for each request and each task, if OTEL_EXPORTER_OTLP_ENDPOINT is set.

A span has the route, the method, the status and the request's id, or the task's name. It has no address,
header or body, which may contain answers and keys. Without the variable this module is not imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

from celery.signals import task_postrun, task_prerun
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
    use_span,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

SERVICE = "colloquy"


@cache
def tracer() -> Tracer:
    """Return the source of spans. Each process makes its own, because a thread does not survive a fork.

    It is not the global one, so libraries send no traces of their own, which might contain texts of prompts.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    version = str(settings.SPECTACULAR_SETTINGS["VERSION"])
    service = {"service.name": os.environ.get("OTEL_SERVICE_NAME") or SERVICE, "service.version": version}
    provider = TracerProvider(resource=Resource.create(service))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    made: Tracer = provider.get_tracer(SERVICE, version)
    return made


class TelemetryMiddleware:
    """Sends a span for each request. A span ends with the last part of a response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        caller = TraceContextTextMapPropagator().extract(
            {"traceparent": request.META.get("HTTP_TRACEPARENT", "")}
        )
        # Anybody can send a trace's id, and a flag that asks for no span: a request begins its own trace,
        # which links to the caller's.
        link = Link(get_current_span(caller).get_span_context())
        links = [link] if link.context.is_valid else []
        span = tracer().start_span(str(request.method), context=Context(), kind=SpanKind.SERVER, links=links)
        with use_span(span):
            response = self.get_response(request)
        _describe(span, request, response)
        if response.streaming:
            response._resource_closers.append(span.end)  # type: ignore[attr-defined]
        else:
            span.end()
        return response


def _describe(span: Span, request: HttpRequest, response: HttpResponse) -> None:
    match, status = request.resolver_match, response.status_code
    if match is not None:
        span.update_name(f"{request.method} /{match.route}")
        span.set_attribute("http.route", f"/{match.route}")
    span.set_attribute("http.request.method", str(request.method))
    span.set_attribute("http.response.status_code", status)
    span.set_attribute("colloquy.request_id", response.get("X-Request-Id", ""))
    if status >= 500:
        span.set_status(Status(StatusCode.ERROR))


def _begin_task(task: Any, **_: object) -> None:
    task.request.span = tracer().start_span(task.name, kind=SpanKind.CONSUMER)


def _end_task(task: Any, state: str | None = None, **_: object) -> None:
    span: Span = task.request.span
    if state == "FAILURE":
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def trace_tasks() -> None:
    """Send a span for each task that this process runs."""
    task_prerun.connect(_begin_task)
    task_postrun.connect(_end_task)
