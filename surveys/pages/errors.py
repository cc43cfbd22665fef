"""Error pages outside surveys. They need only the templates, no database."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader

from communities.errors import Unavailable
from communities.http.envelope import RETRY_AFTER_OUTAGE
from surveys.pages import theme


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("400.html", 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("403.html", 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("404.html", 404)


def refused_body(request: HttpRequest, status: int) -> HttpResponse:
    """The page for a form that is not read: 400, 413 or 415."""
    return _page(f"{status}.html", status)


def fault(request: HttpRequest) -> HttpResponse:
    error = sys.exc_info()[1]
    if isinstance(error, OperationalError | InterfaceError):  # the database is down or overloaded
        return unavailable(RETRY_AFTER_OUTAGE)
    if isinstance(error, Unavailable):
        return unavailable(error.retry_after)
    return _page("500.html", 500)


def unavailable(retry_after: int) -> HttpResponse:
    """The page for what works again in so many seconds."""
    response = _page("503.html", 503)
    response["Retry-After"] = str(retry_after)
    return response


def _page(template: str, status: int) -> HttpResponse:
    return HttpResponse(loader.get_template(template).render({"page": theme.PLAIN}), status=status)
