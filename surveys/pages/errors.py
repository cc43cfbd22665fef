"""Error pages outside surveys. They need only the templates, no database."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from communities.accounts.middleware import AREA as ACCOUNT_AREA
from communities.gate.envelope import RETRY_AFTER_OUTAGE
from communities.ground.errors import Unavailable
from communities.ground.translation import ENGLISH, in_language
from surveys.drawing import theme


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("400.html", 400, request)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("403.html", 403, request)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("404.html", 404, request)


def refused_body(request: HttpRequest, status: int) -> HttpResponse:
    """The page for a form that was not read: 400, 413 or 415."""
    return _page(f"{status}.html", status, request)


def fault(request: HttpRequest) -> HttpResponse:
    error = sys.exc_info()[1]
    if isinstance(error, OperationalError | InterfaceError | ConnectionInterrupted | RedisError):
        # The database or Redis is down or overloaded.
        return unavailable(RETRY_AFTER_OUTAGE, request)
    if isinstance(error, Unavailable):
        return unavailable(error.retry_after, request)
    return _page("500.html", 500, request)


def unavailable(retry_after: int, request: HttpRequest) -> HttpResponse:
    """The page for an error that will be over after `retry_after` seconds."""
    response = _page("503.html", 503, request)
    response["Retry-After"] = str(retry_after)
    return response


def _page(template: str, status: int, request: HttpRequest) -> HttpResponse:
    """The account area has texts of its own, in English, because nobody answers a survey there."""
    is_account = request.path.startswith(ACCOUNT_AREA)
    context = {"page": theme.PLAIN, "is_account": is_account}
    with in_language(ENGLISH if is_account else request.META.get("HTTP_ACCEPT_LANGUAGE", "")):
        return HttpResponse(loader.get_template(template).render(context), status=status)
