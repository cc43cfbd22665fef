"""The bytes of responses that are kept for the Idempotency-Keys of an API key (`Tier.idempotency_bytes`).

Redis counts the bytes of the last 24 hours, by the hour, for all processes. A process asks it once for many
small responses, so that it costs a request next to nothing. While Redis is down, all responses are kept.
"""

from __future__ import annotations

import threading
import time

from cachetools import LRUCache
from redis.exceptions import RedisError

from communities import redis_connection
from communities.http import throttling

ROW_BYTES = 300  # of a stored response beside its body
BYTES_AT_ONCE = 65_536  # a process counts so many before it asks Redis
SECONDS_UNTIL_ASKED_AGAIN = 60.0  # once a budget is used up
MAX_KEYS = 10_000

# A hash of bytes by hour. An hour that is 24 hours old counts no more.
TAKE_BYTES = """
local hour = math.floor(redis.call('TIME')[1] / 3600)
local total = tonumber(ARGV[1])
local hours = redis.call('HGETALL', KEYS[1])
for i = 1, #hours, 2 do
  if tonumber(hours[i]) <= hour - 24 then
    redis.call('HDEL', KEYS[1], hours[i])
  else
    total = total + tonumber(hours[i + 1])
  end
end
if total > tonumber(ARGV[2]) then
  return 0
end
redis.call('HINCRBY', KEYS[1], hour, ARGV[1])
redis.call('EXPIRE', KEYS[1], 90000)
return 1
"""


class ResponseBudget:
    """The budgets of all API keys, as this process knows them."""

    def __init__(self) -> None:
        self._uncounted: LRUCache[int, int] = LRUCache(MAX_KEYS)
        self._used_up_until: LRUCache[int, float] = LRUCache(MAX_KEYS)
        self._lock = threading.Lock()

    def take(self, api_key_id: int, size: int, *, budget: int) -> bool:
        """Count a response of `size` bytes. False if that is more than the key's budget still has."""
        with self._lock:
            if self._used_up_until.get(api_key_id, 0.0) > time.monotonic():
                return False
            waiting = self._uncounted.get(api_key_id, 0) + size + ROW_BYTES
            is_few = waiting < BYTES_AT_ONCE
            self._uncounted[api_key_id] = waiting if is_few else 0
        if is_few or self._is_granted(api_key_id, waiting, budget):
            return True
        with self._lock:
            self._used_up_until[api_key_id] = time.monotonic() + SECONDS_UNTIL_ASKED_AGAIN
        return False

    def _is_granted(self, api_key_id: int, size: int, budget: int) -> bool:
        if throttling.outage.lasts():
            return True
        name = f"colloquy:idempotency:{api_key_id}"
        try:
            return bool(redis_connection.client().eval(TAKE_BYTES, 1, name, str(size), str(budget)))
        except RedisError as error:
            throttling.outage.begin(error)
            return True


response_budget = ResponseBudget()
