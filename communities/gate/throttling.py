"""Rate limits over a sliding minute or hour in Redis. Each needs one atomic round trip and uses the clock of
the Redis server.

For API keys the same round trip reads the version of the community's keys (`ground.key_versions`).

The hits of a key are a list of times in microseconds, oldest first, without refused requests. If Redis is
down, requests are let through (rule 11.20). Redis is then not tried again for some seconds, so that requests
do not wait for it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import re
import threading
import time
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from cachetools import LRUCache
from django.conf import settings
from django.http import HttpRequest
from redis.exceptions import NoScriptError, RedisError

from communities.ground import key_versions, redis_connection
from communities.ground.errors import Conflict
from communities.ground.tiers import (
    PREFLIGHTS_PER_MINUTE,
    REQUESTS_PER_MINUTE_OF_TOKEN,
    REQUESTS_PER_MINUTE_WITHOUT_KEY,
)

MINUTE, HOUR, DAY = 60, 3600, 86_400  # seconds
# Files that a community, and one person in it, sends at most, refused and repeated ones included.
PICTURES_A_DAY, PICTURES_A_DAY_OF_ONE = 1_000, 500
LIMIT_HEADER = "X-RateLimit-Limit"  # Rule 11.17 requires this header.
SECONDS_BETWEEN_ATTEMPTS = 5.0  # The time between two attempts while Redis is down.

# At most this many names are counted; the least recently used name is removed first.
MAX_COUNTED_HERE = 10_000
LONGEST_ADDRESS = 100  # An address has at most this many characters, with port, zone and spaces.
_ADDRESS = re.compile(
    r'"?(?:\[(?P<bracketed>[0-9a-f:.]+)(?:%[^\]]*)?\](?::[0-9]*)?'
    r'|(?P<ipv4>[0-9.]+)(?::[0-9]*)?|(?P<ipv6>[0-9a-f:.]+)(?:%[^"]*)?)"?',
    re.IGNORECASE,
)

# Numbers are returned as integers, because Lua would round texts to 14 digits. Another request is accepted
# when the oldest hit expires, or a later hit if the limit has been lowered since.
TAKE = f"""
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local version = false
if KEYS[2] then
  version = redis.call('GET', KEYS[2])
  if not version then
    version = string.format('%.0f', now)
    redis.call('SET', KEYS[2], version, 'PX', {key_versions.LIFETIME})
  end
end
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
  return {{1, limit - count - 1, tonumber(oldest or hit) + window, 0, version}}
end
local blocking = tonumber(redis.call('LINDEX', KEYS[1], count - limit))
return {{0, 0, tonumber(oldest) + window, blocking + window - now, version}}
"""

# The number of hits in each window now. Nothing is counted or removed.
USED = """
local clock = redis.call('TIME')
local start = clock[1] * 1000000 + clock[2] - tonumber(ARGV[1])
local used = {}
for i, name in ipairs(KEYS) do
  local low, high = 0, redis.call('LLEN', name)
  local count = high
  while low < high do
    local middle = math.floor((low + high) / 2)
    if tonumber(redis.call('LINDEX', name, middle)) <= start then low = middle + 1 else high = middle end
  end
  used[i] = count - low
end
return used
"""

TAKE_SHA = hashlib.sha1(TAKE.encode()).hexdigest()  # Redis stores the script under this name.

log = structlog.get_logger("colloquy.throttling")


@dataclass(frozen=True, slots=True)
class Allowance:
    """The rest of a limit: `resets_at` in Unix seconds, `retry_after` in seconds (0 if accepted).

    `key_version` is the version of the community's keys; None without Redis, and for other limits.
    """

    limit: int
    remaining: int
    resets_at: int
    retry_after: int = 0
    key_version: bytes | None = None

    @property
    def is_used_up(self) -> bool:
        return self.retry_after > 0

    def headers(self) -> dict[str, str]:
        return {
            LIMIT_HEADER: str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.resets_at),
        }


class Outage:
    """An outage of Redis: the time of the next attempt, and the number of requests that were let through
    without a limit.
    """

    def __init__(self) -> None:
        self.calls_let_through = 0
        self._next_attempt_at = 0.0
        self._lock = threading.Lock()

    def lasts(self) -> bool:
        """Return whether Redis must be skipped now. Every few seconds one caller gets False and tries Redis
        again.
        """
        if not self._next_attempt_at:
            return False
        with self._lock:
            now = time.monotonic()
            if now < self._next_attempt_at:
                return True
            self._next_attempt_at = now + SECONDS_BETWEEN_ATTEMPTS
            return False

    def begin(self, error: RedisError) -> None:
        with self._lock:
            self._next_attempt_at = time.monotonic() + SECONDS_BETWEEN_ATTEMPTS
        log.error(
            "throttling.redis_is_down", cause=type(error).__name__, calls_let_through=self.calls_let_through
        )

    def end(self) -> None:
        if self._next_attempt_at:
            self._next_attempt_at = 0.0
            log.info("throttling.redis_is_back", calls_let_through=self.calls_let_through)

    def let_through(self, limit: int) -> Allowance:
        self.calls_let_through += 1
        return Allowance(limit=limit, remaining=limit, resets_at=int(time.time()) + 61)


outage = Outage()


class CountsHere:
    """Sliding windows in the memory of this process, for limits that must apply while Redis is down."""

    def __init__(self) -> None:
        self._hits: LRUCache[str, deque[float]] = LRUCache(MAX_COUNTED_HERE)
        self._lock = threading.Lock()

    def take(self, name: str, limit: int, *, seconds: int) -> Allowance:
        now = time.monotonic()
        with self._lock:
            hits = self._hits.setdefault(name, deque())
            while hits and hits[0] <= now - seconds:
                hits.popleft()
            is_granted = len(hits) < limit
            if is_granted:
                hits.append(now)
            wait = 0 if is_granted else max(1, math.ceil(hits[len(hits) - limit] + seconds - now))
            resets_at = math.ceil(time.time() + hits[0] + seconds - now)
            return Allowance(limit, max(0, limit - len(hits)), resets_at, wait)

    def give_back(self, name: str, hits: int) -> None:
        with self._lock:
            counted = self._hits.get(name) or deque()
            for _ in range(min(hits, len(counted))):
                counted.pop()

    def forget(self, name: str) -> None:
        with self._lock:
            self._hits.pop(name, None)


counts_here = CountsHere()


def take(name: str, limit: int, *, seconds: int = MINUTE) -> Allowance:
    """Count one request under a name if fewer than `limit` were counted in the last `seconds`."""
    return _take(limit, seconds, name) or outage.let_through(limit)


def take_surely(name: str, limit: int, *, seconds: int) -> Allowance:
    """Count a request as `take` does. While Redis is down, each process counts alone, so that not all
    requests are let through.
    """
    return _take(limit, seconds, name) or counts_here.take(name, limit, seconds=seconds)


def take_seldom(name: str, limit: int, *, seconds: int = MINUTE) -> Allowance:
    """Count a request as `take_surely` does, but without a round trip as long as this process has counted few
    requests.

    So a limit that almost nobody reaches costs almost nothing. Each process may let up to a tenth of the
    limit through in addition.
    """
    here = counts_here.take(name, limit, seconds=seconds)
    if here.is_used_up or here.remaining >= limit - limit // 10:
        return here
    return _take(limit, seconds, name) or here


def give_back(name: str, hits: int = 1) -> None:
    """Take back requests that were just counted under a name. Requests of other callers remain counted."""
    counts_here.give_back(name, hits)
    if outage.lasts():
        return
    try:
        client = redis_connection.client()
        for _ in range(hits):
            client.rpop(name)
    except RedisError as error:
        outage.begin(error)


def forget(name: str) -> None:
    """Delete the counts under a name."""
    counts_here.forget(name)
    if outage.lasts():
        return
    try:
        redis_connection.client().delete(name)
    except RedisError as error:
        outage.begin(error)


def used_by_keys(api_key_ids: Sequence[int]) -> dict[int, int] | None:
    """The number of requests of each of these keys in the last minute; None if Redis is down."""
    if not api_key_ids:
        return {}
    if outage.lasts():
        return None
    try:
        names = [_name_of_key(each) for each in api_key_ids]
        used: Any = redis_connection.client().eval(USED, len(names), *names, MINUTE * 1_000_000)
    except RedisError as error:
        outage.begin(error)
        return None
    outage.end()
    return dict(zip(api_key_ids, used, strict=True))


def _name_of_key(api_key_id: int) -> str:
    return f"colloquy:rate:key:{api_key_id}"


def take_for_key(api_key_id: int, limit: int, *, community_id: int) -> Allowance:
    """Count one request of a key (rule 11.16). The allowance contains the version of the community's keys."""
    names = _name_of_key(api_key_id), key_versions.name_of(community_id)
    return _take(limit, MINUTE, *names) or outage.let_through(limit)


def take_for_token(conversation_id: uuid.UUID, *, community_id: int) -> Allowance:
    """Count one request with a token of a conversation (rule 11.93), as `take_for_key` does."""
    # The id is hashed, because these times belong to a response, which may be anonymous.
    name = hashed(f"token:{conversation_id}")
    names = f"colloquy:rate:token:{name}", key_versions.name_of(community_id)
    limit = REQUESTS_PER_MINUTE_OF_TOKEN
    return _take(limit, MINUTE, *names) or outage.let_through(limit)


def require_upload(*, community_id: int, user_id: int) -> None:
    """Count a file before it is read as a picture, which may take seconds of CPU. Raises Conflict."""
    name = f"colloquy:pictures:{community_id}"
    for who, most in ((f":{user_id}", PICTURES_A_DAY_OF_ONE), ("", PICTURES_A_DAY)):
        if take_surely(f"{name}{who}", most, seconds=DAY).is_used_up:
            sender = "You have" if who else "The community has"
            raise Conflict(f"{sender} sent {most:,} files of pictures within a day. Wait a while.")


def take_for_preflight(request: HttpRequest) -> Allowance:
    """Count a browser's question under its address. Many browsers may have one address, and ask often."""
    return take(f"colloquy:rate:preflight:{hashed(address_of(request))}", PREFLIGHTS_PER_MINUTE)


def _take(limit: int, seconds: int, *names: str) -> Allowance | None:
    """Count in Redis. Returns None if Redis is down."""
    if outage.lasts():
        return None
    try:
        granted, remaining, resets_at, wait, version = _run_script(names, limit, seconds * 1_000_000)
    except RedisError as error:
        outage.begin(error)
        return None
    outage.end()
    return Allowance(
        limit=limit,
        remaining=remaining,
        resets_at=_seconds_up(resets_at),
        retry_after=0 if granted else max(1, _seconds_up(wait)),
        key_version=version,
    )


def hashed(text: str) -> str:
    """The keyed hash under which addresses and names of accounts are stored."""
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), hashlib.sha256).hexdigest()[:24]


def take_for_address(request: HttpRequest) -> Allowance:
    """Count a request without a valid key under its client's address (rule 11.19)."""
    return take(f"colloquy:rate:address:{hashed(address_of(request))}", REQUESTS_PER_MINUTE_WITHOUT_KEY)


def address_of(request: HttpRequest) -> str:
    """Return the client's address, as seen by the outermost of our own proxies.

    Each proxy appends its client's address to X-Forwarded-For, some with a port. The client may have forged
    the earlier entries. The address of an IPv6 client is the network, because one household has a whole /64.
    An entry that is no address counts as the proxy's own address, so that forged entries give nobody a
    separate limit.
    """
    remote = str(request.META.get("REMOTE_ADDR") or "unknown")
    proxies: int = settings.TRUSTED_PROXIES
    entries = [part for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    if proxies and entries:
        address = _network(entries[-proxies:][0])
        if address is not None:
            return address
    return _network(remote) or remote


def _network(text: str) -> str | None:
    """Return an IPv4 address, or the /64 of an IPv6 address, without port and zone; None for other texts."""
    match = _ADDRESS.fullmatch(text[:LONGEST_ADDRESS].strip())
    try:
        address = ipaddress.ip_address(
            (match["bracketed"] or match["ipv4"] or match["ipv6"]) if match else ""
        )
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address), 64), strict=False))


def _seconds_up(microseconds: int) -> int:
    """Round up to whole seconds."""
    return -(-microseconds // 1_000_000)


def _run_script(names: tuple[str, ...], limit: int, window: int) -> list[Any]:
    client = redis_connection.client()
    try:
        answer: list[Any] = client.evalsha(TAKE_SHA, len(names), *names, limit, window)
    except NoScriptError:  # Redis was restarted, or its scripts were flushed.
        answer = client.eval(TAKE, len(names), *names, limit, window)
    return answer
