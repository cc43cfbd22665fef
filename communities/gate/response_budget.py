"""The limit of bytes for stored responses for the Idempotency-Keys of an API key (`Tier.idempotency_bytes`).

Redis counts the bytes of the last 24 hours, by the hour, for all processes. A process reports many small
responses at once, so that a request costs almost nothing. So an API key may exceed the budget by the
unreported bytes. While Redis is down, all responses are stored.
"""

from __future__ import annotations

import threading
import time

from cachetools import LRUCache
from redis.exceptions import RedisError

from communities.gate import throttling
from communities.ground import redis_connection

ROW_BYTES = 300  # A stored response takes these bytes in addition to its body.
BYTES_AT_ONCE = 65_536  # A process stores this many bytes before it reports them.
SECONDS_UNTIL_ASKED_AGAIN = 60.0  # After a budget is used up, the process asks Redis again after this time.
MAX_KEYS = 10_000

# A hash of bytes by hour. An hour that is 24 hours old is no longer counted.
COUNT_BYTES = """
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
if tonumber(ARGV[1]) > 0 then
  redis.call('HINCRBY', KEYS[1], hour, ARGV[1])
  redis.call('EXPIRE', KEYS[1], 90000)
end
return total < tonumber(ARGV[2]) and 1 or 0
"""


class ResponseBudget:
    """The budgets of all API keys, as this process knows them (rule 11.25)."""

    def __init__(self) -> None:
        self._uncounted: LRUCache[int, int] = LRUCache(MAX_KEYS)
        self._used_up_until: LRUCache[int, float] = LRUCache(MAX_KEYS)
        self._lock = threading.Lock()

    def settle(self, api_key_id: int, *, budget: int) -> None:
        """Report the bytes that this process has stored to Redis, if they are many, and read what remains of
        the budget.

        Call this before a write, outside of its transaction, because it may wait for Redis.
        """
        with self._lock:
            uncounted = self._uncounted.get(api_key_id, 0)
            used_up_until = self._used_up_until.get(api_key_id)
            if used_up_until is None:
                is_due = uncounted >= BYTES_AT_ONCE
            else:
                is_due = used_up_until <= time.monotonic()
            if not is_due:
                return
            self._uncounted[api_key_id] = 0
        has_room = self._count(api_key_id, uncounted, budget)
        with self._lock:
            if has_room:
                self._used_up_until.pop(api_key_id, None)
            else:
                self._used_up_until[api_key_id] = time.monotonic() + SECONDS_UNTIL_ASKED_AGAIN

    def take(self, api_key_id: int, size: int) -> bool:
        """Return whether a response of `size` bytes may be stored. Sends no request to Redis: see
        `settle`.
        """
        with self._lock:
            if api_key_id in self._used_up_until:
                return False
            self._uncounted[api_key_id] = self._uncounted.get(api_key_id, 0) + size + ROW_BYTES
        return True

    def _count(self, api_key_id: int, size: int, budget: int) -> bool:
        """Add to the bytes of all processes, and return whether they are within the budget."""
        if throttling.outage.lasts():
            return True
        name = f"colloquy:idempotency:{api_key_id}"
        try:
            return bool(redis_connection.client().eval(COUNT_BYTES, 1, name, str(size), str(budget)))
        except RedisError as error:
            throttling.outage.begin(error)
            return True


response_budget = ResponseBudget()
