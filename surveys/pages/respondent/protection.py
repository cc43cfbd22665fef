"""Protects open pages against scripts and forged forms without losing typed answers (rules 6.34 and 6.35)."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from communities.gate import throttling

# A field that people never see. Browsers do not fill in a field with this name and label by themselves.
HONEYPOT = "leave_empty"
OLDEST_SEAL = 7 * 24 * 3600 * 1000  # milliseconds; an older first form has to be sent twice


def is_trapped(request: HttpRequest) -> bool:
    """Whether the honeypot field of a first form was filled in, by a script or by a browser itself."""
    return bool(request.POST.get(HONEYPOT))


def seems_human(*, is_sealed: bool, since: int, is_answer: bool, at: datetime) -> bool:
    """Whether a first move came from our page and, if it is an answer, was not sent too fast."""
    if not is_sealed:
        return False
    least = settings.LEAST_SECONDS_TO_FIRST_ANSWER * 1000 if is_answer else 0
    return least <= at.timestamp() * 1000 - since <= OLDEST_SEAL


def may_begin(request: HttpRequest) -> bool:
    """Count a new conversation from this address, and say if the hour's limit allows it.

    True while Redis is down.
    """
    name = f"colloquy:begun:{throttling.hashed(throttling.address_of(request))}"
    most = settings.CONVERSATIONS_PER_ADDRESS_AND_HOUR
    return not throttling.take(name, most, seconds=throttling.HOUR).is_used_up


def seconds_to_wait(request: HttpRequest, *, visitor_id: str) -> int:
    """Count a move of this visitor and of this address. Returns the seconds to wait; 0 if it is allowed.

    The limits are far above the speed of people, also if a whole lecture hall shares one address.
    """
    address = throttling.address_of(request)
    limits = (
        (f"colloquy:moves:visitor:{throttling.hashed(visitor_id)}", settings.MOVES_PER_VISITOR_AND_MINUTE),
        (f"colloquy:moves:address:{throttling.hashed(address)}", settings.MOVES_PER_ADDRESS_AND_MINUTE),
    )
    return max(throttling.take_seldom(name, most).retry_after for name, most in limits)


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check, which here returns the reason of a failure, so the page can keep the typed answer."""

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
