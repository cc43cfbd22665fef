"""Protects open pages against scripts and forged forms, and loses no typed answer (decisions 8.13, 14.21)."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from communities.http import throttling

HONEYPOT = "website"
OLDEST_SEAL = 7 * 24 * 3600 * 1000  # milliseconds; an older first form has to be sent twice


def seems_human(request: HttpRequest, *, is_sealed: bool, since: int, is_answer: bool, at: datetime) -> bool:
    """Whether a first move came from our page, left the honeypot field empty and, as an answer, took time."""
    if not is_sealed or request.POST.get(HONEYPOT):
        return False
    least = settings.LEAST_SECONDS_TO_FIRST_ANSWER * 1000 if is_answer else 0
    return least <= at.timestamp() * 1000 - since <= OLDEST_SEAL


def may_begin(request: HttpRequest) -> bool:
    """Count one more conversation begun from this address this hour; True while Redis is down."""
    name = f"colloquy:begun:{_hashed(throttling.address_of(request))}"
    most = settings.CONVERSATIONS_PER_ADDRESS_AND_HOUR
    return not throttling.take(name, most, seconds=throttling.HOUR).is_used_up


def _hashed(address: str) -> str:
    """Network addresses are stored only as keyed hashes."""
    return hmac.new(settings.SECRET_KEY.encode(), address.encode(), hashlib.sha256).hexdigest()[:24]


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check, but it returns the reason of a failure, so that the page can keep what was typed."""

    def _reject(self, request: HttpRequest, reason: str) -> str:
        return reason


def _no_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


_csrf_check = _CsrfCheck(_no_view)


def is_same_origin(request: HttpRequest) -> bool:
    """Whether a form comes from a page of ours, by its `Origin`. Browsers send it with every POST."""
    return "Origin" not in request.headers or _csrf_check._origin_verified(request)  # type: ignore[attr-defined]


def is_own_form(request: HttpRequest) -> bool:
    """Whether the form passes Django's protection against cross-site request forgery."""
    return _csrf_check.process_view(request, _no_view, (), {}) is None
