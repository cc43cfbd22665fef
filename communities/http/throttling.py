"""A sliding minute, or hour, in Redis: one atomic round trip, by the server's clock.

The log of a key's hits is a list of microseconds, oldest first. Refused requests are not in it. If Redis is
down, calls go through (decisions 2.5), and Redis is left alone for some seconds, so that nobody waits for it.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from dataclasses import dataclass
from functools import cache

import redis
import structlog
from django.conf import settings
from django.http import HttpRequest
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from communities.tiers import REQUESTS_PER_MINUTE_WITHOUT_KEY

MINUTE, HOUR = 60, 3600  # seconds
SECONDS_TO_LEAVE_REDIS_ALONE = 5.0
SECONDS_TO_WAIT_FOR_REDIS = 1.0

# Numbers go back as integers: as text, Lua would round them to 14 digits. The first hit that has to leave
# before another is let in is the oldest, or a later one where the limit was lowered since.
TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local oldest = redis.call('LINDEX', KEYS[1], 0)
while oldest and tonumber(oldest) <= now - window do
  redis.call('LPOP', KEYS[1])
  oldest = redis.call('LINDEX', KEYS[1], 0)
end
local count = redis.call('LLEN', KEYS[1])
if count < limit then
  local hit = string.format('%.0f', now)
  redis.call('RPUSH', KEYS[1], hit)
  redis.call('PEXPIRE', KEYS[1], window / 1000 + 1000)
  return {1, limit - count - 1, tonumber(oldest or hit) + window, 0}
end
local blocking = tonumber(redis.call('LINDEX', KEYS[1], count - limit))
return {0, 0, tonumber(oldest) + window, blocking + window - now}
"""

log = structlog.get_logger("colloquy.throttling")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the limiter said: `resets_at` in Unix seconds, `retry_after` in seconds (0 where let in)."""

    limit: int
    remaining: int
    resets_at: int
    retry_after: int = 0

    @property
    def is_used_up(self) -> bool:
        return self.retry_after > 0

    def headers(self) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.resets_at),
        }


class Outage:
    """That Redis is away: until when to leave it alone, and how many calls went by unlimited."""

    def __init__(self) -> None:
        self.calls_let_through = 0
        self._alone_until = 0.0
        self._lock = threading.Lock()

    def lasts(self) -> bool:
        """Whether to leave Redis alone. After a while one caller is told no, to try; the others still yes."""
        if not self._alone_until:
            return False
        with self._lock:
            now = time.monotonic()
            if now < self._alone_until:
                return True
            self._alone_until = now + SECONDS_TO_LEAVE_REDIS_ALONE
            return False

    def begin(self, error: RedisError) -> None:
        with self._lock:
            self._alone_until = time.monotonic() + SECONDS_TO_LEAVE_REDIS_ALONE
        log.error(
            "throttling.redis_is_down", cause=type(error).__name__, calls_let_through=self.calls_let_through
        )

    def end(self) -> None:
        if self._alone_until:
            self._alone_until = 0.0
            log.info("throttling.redis_is_back", calls_let_through=self.calls_let_through)

    def let_through(self, limit: int) -> Allowance:
        self.calls_let_through += 1
        return Allowance(limit=limit, remaining=limit, resets_at=int(time.time()) + 61)


outage = Outage()


def take(name: str, limit: int, *, seconds: int = MINUTE) -> Allowance:
    """Count one request under a name, or refuse it: no more than `limit` in any so many seconds."""
    if outage.lasts():
        return outage.let_through(limit)
    try:
        granted, remaining, resets_at, wait = _run_script(name, limit, seconds * 1_000_000)
    except RedisError as error:
        outage.begin(error)
        return outage.let_through(limit)
    outage.end()
    retry_after = 0 if granted else max(1, _seconds_up(wait))
    return Allowance(
        limit=limit, remaining=remaining, resets_at=_seconds_up(resets_at), retry_after=retry_after
    )


def take_for_key(api_key_id: int, limit: int) -> Allowance:
    return take(f"colloquy:rate:key:{api_key_id}", limit)


def take_for_address(request: HttpRequest) -> Allowance:
    """Attempts without a valid key are limited by the address they come from."""
    return take(f"colloquy:rate:address:{address_of(request)}", REQUESTS_PER_MINUTE_WITHOUT_KEY)


def address_of(request: HttpRequest) -> str:
    """The client's address: the one that the outermost of our own proxies saw.

    Each proxy adds, at the end of X-Forwarded-For, whom it was called by; what stands before may be made up.
    Of an IPv6 address it is the network, as one household has a whole /64.
    """
    remote = str(request.META.get("REMOTE_ADDR") or "unknown")
    proxies: int = settings.TRUSTED_PROXIES
    if not proxies:
        return _network(remote)
    told = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    return _network(told[-proxies:][0][:64] if told else remote)


def _network(seen: str) -> str:
    if ":" not in seen:
        return seen
    try:
        address = ipaddress.IPv6Address(seen)
    except ValueError:
        return seen
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False))


def _seconds_up(microseconds: int) -> int:
    return -(-microseconds // 1_000_000)


def _run_script(name: str, limit: int, window: int) -> list[int]:
    client, digest = _client()
    try:
        answer: list[int] = client.evalsha(digest, 1, name, limit, window)
    except NoScriptError:  # a fresh Redis, or one that was told to forget
        answer = client.eval(TAKE, 1, name, limit, window)
    return answer


@cache
def _client() -> tuple[redis.Redis, str]:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=SECONDS_TO_WAIT_FOR_REDIS,
        socket_timeout=SECONDS_TO_WAIT_FOR_REDIS,
        # Once more at once: a kept connection may have been closed by the other side.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )
    return client, client.register_script(TAKE).sha
