"""Error pages outside surveys. They need only the templates, no database."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template import loader

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
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):  # the database is down or overloaded
        response = _page("503.html", 503)
        response["Retry-After"] = str(RETRY_AFTER_OUTAGE)
        return response
    return _page("500.html", 500)


def _page(template: str, status: int) -> HttpResponse:
    return HttpResponse(loader.get_template(template).render({"page": theme.PLAIN}), status=status)
