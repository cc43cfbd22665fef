"""Friendly pages for what goes wrong outside a survey. They need nothing but the templates."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template import loader


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("400.html", 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("403.html", 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page("404.html", 404)


def fault(request: HttpRequest) -> HttpResponse:
    return _page("500.html", 500)


def _page(template: str, status: int) -> HttpResponse:
    return HttpResponse(loader.get_template(template).render(), status=status)
