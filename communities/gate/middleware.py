"""The outermost layer: request ids, the request log, and JSON for every error under /v1.

It also lets requests without a session skip the layers for sessions.
"""

from __future__ import annotations

import gzip
import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from communities.gate import envelope, proxies, throttling
from communities.gate.bodies import MEDIA_TYPE
from communities.ground.errors import Forbidden

LEAST_COMPRESSED = 1_000  # bytes
_TAKES_GZIP = re.compile(r"(?<![\w-])gzip(?!\s*;\s*q=0(?:\.0*)?(?:,|\s|$))")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

NOT_SECURE = (
    "This interface is served over https alone. A key that was sent over http may have been read on its way: "
    "replace it, and send requests to https."
)

log = structlog.get_logger("colloquy.requests")


class RequestMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        callers_id = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = callers_id if _ID.fullmatch(callers_id) else uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        # A view of an earlier request may have activated the time zone of its community.
        timezone.deactivate()
        if must_be_secure(request):
            response = envelope.error_response(Forbidden(NOT_SECURE), request)
        else:
            response = self.get_response(request)
        if settings.SECURE_SSL_REDIRECT and response.status_code in (301, 403) and not request.is_secure():
            response = _explained(request, response)
        elif proxies.hides_host(request):
            log.warning("proxy.wrong", problem=proxies.NO_HOST)
        if is_api_request(request):
            response = _compressed(request, _as_api_response(request, response))
        elif is_first_page(request):
            response = _compressed(request, response)
        response["X-Request-Id"] = request_id  # Rule 11.5 requires this header.
        if request.method == "HEAD" and not response.streaming:
            response.content = b""  # Content-Length already has the length of the response to GET.
        log.info(
            "request.done",
            method=request.method,
            route=getattr(request.resolver_match, "route", None),
            status=response.status_code,
            milliseconds=round((time.perf_counter() - started) * 1000, 1),
        )
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Answer an error in a view under /v1 that is no CommunityViewSet; a CommunityViewSet answers its own
        errors.
        """
        return envelope.error_response(error, request) if is_api_request(request) else None


class InnermostMiddleware:
    """Stores the way to the views, for `SessionlessMiddleware`. Django builds the layers from the inside."""

    built: Callable[[HttpRequest], HttpResponse] | None = None

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        InnermostMiddleware.built = self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)


class SessionlessMiddleware:
    """Lets requests without a session skip the layers for sessions, users, messages and the account area.

    These are requests of the interface, and requests for respondents' pages by browsers that are not signed
    in. The layers took 5 % of the CPU time of an answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.innermost = InnermostMiddleware.built or get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_answered_by_strangers = (
            request.path_info.startswith("/s/") and settings.SESSION_COOKIE_NAME not in request.COOKIES
        )
        if is_answered_by_strangers or is_api_request(request):
            return self.innermost(request)
        return self.get_response(request)


def is_api_request(request: HttpRequest) -> bool:
    """Whether programs call the address with an API key: the interface, and that for assistants."""
    return request.path_info in ("/v1", "/mcp") or request.path_info.startswith("/v1/")


def is_first_page(request: HttpRequest) -> bool:
    """Whether a browser without cookies asks for a respondent's page.

    The length of such a page reveals no secret (BREACH). The page has one secret, the token of its form, and
    Django masks the token differently in each response.
    """
    return request.method == "GET" and request.path_info.startswith("/s/") and not request.COOKIES


def must_be_secure(request: HttpRequest) -> bool:
    """Whether a request of the interface used http on a site with https.

    Such a request is refused: a redirect would work, so nobody would notice that a key was sent unencrypted.
    """
    return settings.SECURE_SSL_REDIRECT and is_api_request(request) and not request.is_secure()


def _explained(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Answer in words if a fault of a proxy would redirect a browser for ever, or refuse each program."""
    problem = proxies.reason_of_loop(request)
    if problem is None:
        return response
    log.warning("proxy.wrong", problem=problem)
    if is_api_request(request):
        return envelope.error_response(Forbidden(problem), request)
    return HttpResponse(f"{problem}\n", status=403, content_type="text/plain; charset=utf-8")


def _as_api_response(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Convert the responses of other layers, such as Django's error pages, to the interface's form and
    headers.
    """
    is_json = response.get("Content-Type", "").startswith(MEDIA_TYPE)
    if response.status_code >= 400 and not is_json:
        allowed = response.get("Allow")
        response = envelope.status_response(response.status_code)
        if allowed is not None:
            response["Allow"] = allowed
    # A response belongs to one key, but caches do not know that X-API-Key is a credential.
    response.headers.setdefault("Cache-Control", "private, no-cache")
    if throttling.LIMIT_HEADER not in response:
        for name, value in throttling.take_for_address(request).headers().items():
            response[name] = value
    return response


def _compressed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Compress a response for a client that takes gzip. No browser sends the key of the interface by itself,
    so no page of strangers can measure how long its JSON becomes (BREACH).
    """
    patch_vary_headers(response, ["Accept-Encoding"])
    if response.streaming or len(response.content) < LEAST_COMPRESSED or "Content-Encoding" in response:
        return response
    if not _TAKES_GZIP.search(request.META.get("HTTP_ACCEPT_ENCODING", "")):
        return response
    response.content = gzip.compress(response.content, compresslevel=1, mtime=0)
    response["Content-Length"] = str(len(response.content))
    response["Content-Encoding"] = "gzip"
    if "ETag" in response and not response["ETag"].startswith("W/"):
        response["ETag"] = f"W/{response['ETag']}"
    return response
