"""What stands against scripts on open pages, and loses no answer that was typed (decisions 8.13, 14.21)."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django_redis import get_redis_connection
from redis.exceptions import RedisError

from surveys.pages.visitors import Read

HONEYPOT = "website"
OLDEST_SEAL = 7 * 24 * 3600 * 1000  # milliseconds a first page may lie open before it has to be sent twice
_HOUR = 3600

log = logging.getLogger(__name__)


def seems_human(request: HttpRequest, read: Read, *, is_answer: bool, at: datetime) -> bool:
    """Whether a first move came from our page, left the hidden field alone and, as an answer, took time."""
    if not read.is_sealed or request.POST.get(HONEYPOT):
        return False
    least = settings.LEAST_SECONDS_TO_FIRST_ANSWER * 1000 if is_answer else 0
    return least <= at.timestamp() * 1000 - read.visit.since <= OLDEST_SEAL


def may_begin(request: HttpRequest, *, at: datetime) -> bool:
    """Count one more conversation begun from this address in this hour. While Redis is away all may begin."""
    key = f"colloquy:begun:{int(at.timestamp()) // _HOUR}:{_hashed(address(request))}"
    try:
        with get_redis_connection("default").pipeline(transaction=False) as pipe:
            pipe.incr(key)
            pipe.expire(key, _HOUR)
            begun = pipe.execute()[0]
    except RedisError:
        log.warning("Redis is away: conversations begun are not counted by address.")
        return True
    return bool(begun <= settings.CONVERSATIONS_PER_ADDRESS_AND_HOUR)


def address(request: HttpRequest) -> str:
    """Where a request comes from: the network of an IPv6 address, as one household has a whole /64."""
    seen: str = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES:
        passed = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
        passed = list(filter(None, passed))
        seen = passed[-settings.TRUSTED_PROXIES] if len(passed) >= settings.TRUSTED_PROXIES else seen
    try:
        parsed = ipaddress.ip_address(seen)
    except ValueError:
        return seen
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


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
