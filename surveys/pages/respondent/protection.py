"""What stands against scripts on open pages, and loses no answer that was typed (decisions 8.13, 14.21)."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from communities.http import throttling
from surveys.pages.respondent.visitors import Read

HONEYPOT = "website"
OLDEST_SEAL = 7 * 24 * 3600 * 1000  # milliseconds a first page may lie open before it has to be sent twice


def seems_human(request: HttpRequest, read: Read, *, is_answer: bool, at: datetime) -> bool:
    """Whether a first move came from our page, left the hidden field alone and, as an answer, took time."""
    if not read.is_sealed or request.POST.get(HONEYPOT):
        return False
    least = settings.LEAST_SECONDS_TO_FIRST_ANSWER * 1000 if is_answer else 0
    return least <= at.timestamp() * 1000 - read.visit.since <= OLDEST_SEAL


def may_begin(request: HttpRequest) -> bool:
    """Count one more conversation begun from this address within an hour. While Redis is away all may."""
    name = f"colloquy:begun:{_hashed(throttling.address_of(request))}"
    most = settings.CONVERSATIONS_PER_ADDRESS_AND_HOUR
    return not throttling.take(name, most, seconds=throttling.HOUR).is_used_up


def _hashed(seen: str) -> str:
    """Addresses are not kept as they are."""
    return hmac.new(settings.SECRET_KEY.encode(), seen.encode(), hashlib.sha256).hexdigest()[:24]


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check, telling its verdict: a page that fails it is shown again, with what was typed."""

    def _reject(self, request: HttpRequest, reason: str) -> str:
        return reason


def _nothing(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


_csrf_check = _CsrfCheck(_nothing)


def is_own_form(request: HttpRequest) -> bool:
    """Whether Django's protection against forged requests is content."""
    return _csrf_check.process_view(request, _nothing, (), {}) is None
