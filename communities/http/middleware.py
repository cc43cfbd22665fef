"""The outermost layer: each request's id, its line in the log, and JSON for whatever fails under /v1."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from communities.http import envelope, throttling
from communities.http.bodies import MEDIA_TYPE

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
LIMIT_HEADER = "X-RateLimit-Limit"

log = structlog.get_logger("colloquy.requests")


class RequestMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun = time.perf_counter()
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        if is_interface(request):
            response = _in_our_shape(request, response)
        response["X-Request-Id"] = request_id
        if request.method == "HEAD" and not response.streaming:
            response.content = b""  # Content-Length stands already, and tells of what GET would send
        log.info(
            "request.done",
            method=request.method,
            route=getattr(request.resolver_match, "route", None),
            status=response.status_code,
            milliseconds=round((time.perf_counter() - begun) * 1000, 1),
        )
        return response

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponse | None:
        """A fault in a view that is not behind the gate (the gate tells its own)."""
        return envelope.tell(fault, request) if is_interface(request) else None


def is_interface(request: HttpRequest) -> bool:
    return request.path_info == "/v1" or request.path_info.startswith("/v1/")


def _in_our_shape(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """What other layers answered (Django's own error pages among them), as the interface answers."""
    is_json = response.get("Content-Type", "").startswith(MEDIA_TYPE)
    if response.status_code >= 400 and not is_json:
        allowed = response.get("Allow")
        response = envelope.told(response.status_code)
        if allowed is not None:
            response["Allow"] = allowed
    # What a key reads is for that key alone, though no cache knows X-API-Key for a credential.
    response.headers.setdefault("Cache-Control", "private, no-cache")
    if LIMIT_HEADER not in response:
        for name, value in throttling.take_for_address(request).headers().items():
            response[name] = value
    return response
