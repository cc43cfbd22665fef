"""The pace of requests to the chat platform: the limits in its headers, shared by all processes through
Redis.

The platform counts requests in buckets. A route belongs to a bucket, and each channel, server or webhook has
its own count in the bucket. Nothing here sleeps: a caller that would have to wait gets the time to wait.
While Redis is down, requests are sent uncounted, and the platform itself refuses too many.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from redis.exceptions import RedisError

from communities.ground import redis_connection

# All calls stop for this time after the platform refused the bot's token.
CIRCUIT_OPEN = timedelta(minutes=5)
PER_SECOND = 45  # The bot sends at most this many requests in a second; the platform allows 50.
# Edits use at most this many of these requests, so that posts and roles always have a share.
EDITS_PER_SECOND = 25
YIELDING = timedelta(seconds=1.5)  # Edits wait for this time after a post or a role had to wait.
MAX_WAIT = timedelta(hours=24)
_DAY = 86_400
_MAJOR = re.compile(r"/(channels|guilds|webhooks)/(\d+)(?:/([^/]+))?")
_PREFIX = "colloquy:chat:"

# KEYS: pause, circuit, second, bucket of the route, stop of the route, whether edits yield. ARGV: prefix of
# buckets, major, whether the bot calls, calls in a second, how long edits yield if this request has to wait
# (0 for an edit), whether to count the request. Returns the reason to wait (pause, circuit, bucket, second)
# and the time in milliseconds.
_RESERVE = """
local paused = redis.call('PTTL', KEYS[1])
if paused > 0 then return {'pause', paused} end
if ARGV[3] == '1' then
  local open = redis.call('PTTL', KEYS[2])
  if open > 0 then return {'circuit', open} end
end
local stopped = redis.call('PTTL', KEYS[5])
if stopped > 0 then return {'bucket', stopped} end
local name = redis.call('GET', KEYS[4])
local bucket = name and (ARGV[1] .. name .. ':' .. ARGV[2])
if bucket then
  local left = redis.call('GET', bucket)
  if left and tonumber(left) <= 0 then
    local wait = redis.call('PTTL', bucket)
    if wait > 0 then return {'bucket', wait} end
  end
end
if ARGV[3] == '1' then
  local yielding = ARGV[5] == '0' and redis.call('PTTL', KEYS[6]) or 0
  if yielding > 0 then return {'second', yielding} end
  if tonumber(redis.call('GET', KEYS[3]) or '0') >= tonumber(ARGV[4]) then
    if ARGV[5] ~= '0' then redis.call('SET', KEYS[6], '1', 'PX', ARGV[5]) end
    return {'second', math.max(redis.call('PTTL', KEYS[3]), 50)}
  end
end
if ARGV[6] == '0' then return {'', 0} end
if ARGV[3] == '1' and redis.call('INCR', KEYS[3]) == 1 then redis.call('PEXPIRE', KEYS[3], 1000) end
if bucket and redis.call('EXISTS', bucket) == 1 then redis.call('DECR', bucket) end
return {'', 0}
"""
# KEYS: bucket of the route, the bucket. ARGV: the name of the bucket, the remaining requests, milliseconds
# until the bucket is full again. Running requests have been subtracted already, so the smaller number is
# correct.
_LEARN = """
redis.call('SET', KEYS[1], ARGV[1], 'EX', 86400)
local left = redis.call('GET', KEYS[2])
if not left or tonumber(left) > tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
end
return 1
"""

# KEYS: the name of the counter. ARGV: milliseconds. Returns the count in the current period.
_TAKE = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count
"""


@dataclass(frozen=True, slots=True)
class Route:
    """A request's method and path without ids, and the major parameter that has a count of its own."""

    method: str
    template: str
    major: str

    @property
    def name(self) -> str:
        return f"{self.method} {self.template}"

    @property
    def is_edit(self) -> bool:
        """Return whether the request changes a message. Edits yield to posts and roles, because the next edit
        shows the latest state.
        """
        return (self.method, self.template) == ("PATCH", "/channels/:major/messages/:id")


@dataclass(frozen=True, slots=True)
class Wait:
    """The reason why a request has to wait (pause, circuit, bucket, second), and the time."""

    cause: str
    lasts: timedelta


def route_of(method: str, path: str) -> Route:
    """The route of a request. It contains no token of the path."""
    path = path.partition("?")[0]
    found = _MAJOR.match(path)
    if found is None:
        return Route(method, re.sub(r"/\d+(?=/|$)", "/:id", path), "")
    kind, major_id, token = found.groups()
    rest = path[found.end(2) :]
    if kind == "webhooks" and token:
        rest = "/:token" + path[found.end(3) :]
        major_id += ":" + hashlib.sha256(token.encode()).hexdigest()[:16]
    return Route(method, f"/{kind}/:major" + re.sub(r"/\d+(?=/|$)", "/:id", rest), major_id)


def reserve(route: Route, *, as_bot: bool) -> Wait | None:
    """Count a request that is about to be sent. Returns None, or a Wait if the request must wait."""
    return _ask(route, as_bot=as_bot, counts="1")


def look(route: Route, *, as_bot: bool) -> Wait | None:
    """Return the wait that a request would have, without counting the request. Callers use this before they
    create the content.
    """
    return _ask(route, as_bot=as_bot, counts="0")


def _ask(route: Route, *, as_bot: bool, counts: str) -> Wait | None:
    own = (route.method, route.template)
    keys = [_key("pause"), _circuit(), _key("second"), _key("route", *own), _stop_of(route)]
    keys += [_key("yield")]
    most, yielding = (EDITS_PER_SECOND, "0") if route.is_edit else (PER_SECOND, _milliseconds(YIELDING))
    values = [_key("bucket", ""), route.major, "1" if as_bot else "0", str(most), yielding, counts]
    try:
        cause, milliseconds = redis_connection.client().eval(_RESERVE, len(keys), *keys, *values)
    except (RedisError, OSError):
        return None
    return Wait(cause.decode(), timedelta(milliseconds=int(milliseconds))) if cause else None


def learn(route: Route, headers: Mapping[str, str]) -> None:
    """Store the response's information about its bucket."""
    name, left = headers.get("X-RateLimit-Bucket", ""), headers.get("X-RateLimit-Remaining", "")
    seconds = read_seconds(headers.get("X-RateLimit-Reset-After"))
    if not re.fullmatch(r"[\w-]{1,64}", name) or not left.isdecimal() or not seconds:
        return
    keys = [_key("route", route.method, route.template), _key("bucket", name, route.major)]
    values = [name, left, _milliseconds(seconds)]
    with suppress(RedisError, OSError):
        redis_connection.client().eval(_LEARN, len(keys), *keys, *values)


def stop(route: Route, wait: timedelta) -> None:
    """Stop the requests of a route to the same channel, server or webhook, because the platform refused
    one.
    """
    _set(_stop_of(route), wait)


def _stop_of(route: Route) -> str:
    return _key("stop", route.method, route.template, route.major)


def stop_all(wait: timedelta) -> None:
    """Stop all requests: the platform reported a global limit, or its edge has blocked us."""
    _set(_key("pause"), wait)


def open_circuit() -> None:
    """Stop calls with the bot's token for some minutes: the token was refused, and further calls could get us
    banned.
    """
    _set(_circuit(), CIRCUIT_OPEN)


def _circuit() -> str:
    """Return the key of a circuit. A circuit belongs to one token, so another token is tried at once."""
    token = settings.CHAT.bot_token if settings.CHAT else ""
    return _key("circuit", hashlib.sha256(token.encode()).hexdigest()[:16])


def take(name: str, most: int, period: timedelta) -> bool:
    """Count a call that users cause, and return whether the call is one of the first `most` in a period.

    Returns False without Redis, because users must not be able to cause unlimited calls.
    """
    key = _key("asked", name)
    try:
        count = int(redis_connection.client().eval(_TAKE, 1, key, _milliseconds(period)))
    except (RedisError, OSError):
        return False
    return count <= most


def read_seconds(value: object) -> timedelta | None:
    """The seconds in a header or a body, at most a day; None for other values."""
    try:
        seconds = float(str(value))
    except ValueError:
        return None
    if not math.isfinite(seconds) or seconds < 0:
        return None
    return min(timedelta(seconds=min(seconds, _DAY)), MAX_WAIT)


def _set(key: str, wait: timedelta) -> None:
    with suppress(RedisError, OSError):
        redis_connection.client().set(key, "1", px=int(_milliseconds(wait)))


def _milliseconds(wait: timedelta) -> str:
    return str(max(1, math.ceil(wait.total_seconds() * 1000)))


def _key(*parts: str) -> str:
    return _PREFIX + ":".join(parts)
