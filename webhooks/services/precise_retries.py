"""Retries that are due before the time on their rows (rule 9.23).

A delivery about an anonymous response stores the end of an hour or a day as its due time. But its first
retries are due after seconds or minutes. Only the memory of the process that made the failed attempt contains
the precise time: neither the database nor the broker stores it. Retries lost at shutdown fall back to the
time stored on the row.
"""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass
from datetime import timedelta

from communities.ground.queue import wake_at_once
from webhooks.services.outbox import DELIVER

MAX_WAIT = timedelta(minutes=5.5)  # For a longer wait, the time on the row applies.
MAX_RETRIES = 10_000  # One process has at most this many precise retries.
SECONDS_BETWEEN_CHECKS = 2.0
# A retry is dropped if its partition is never free or another process is always woken instead.
SECONDS_UNTIL_DROPPED = 600.0

_Partition = tuple[int, int]  # The id of a webhook, and the number of its partition.


@dataclass(frozen=True, slots=True)
class PreciseRetry:
    """A delivery to attempt before the due time on its row, unless its count of attempts has changed."""

    delivery_id: uuid.UUID
    attempts: int


class RetrySchedule:
    """Precise retries by partition, and the thread that wakes a worker when one is due."""

    def __init__(self) -> None:
        self._times: dict[_Partition, dict[PreciseRetry, float]] = {}
        self._count = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, webhook_id: int, partition: int, retry: PreciseRetry, *, wait: timedelta) -> None:
        """Schedule a retry. At `MAX_RETRIES` it is not scheduled, and the time on the row applies."""
        with self._changed:
            if self._count >= MAX_RETRIES:
                return
            retries = self._times.setdefault((webhook_id, partition), {})
            retries[retry] = time.monotonic() + wait.total_seconds()
            self._count += 1
            if self._thread is None:
                thread = threading.Thread(target=self._wake_forever, name="precise-retries", daemon=True)
                thread.start()
                self._thread = thread
            self._changed.notify()

    def next_due(self, webhook_id: int, partition: int) -> PreciseRetry | None:
        """A retry that is due. It stays scheduled until it is removed."""
        now = time.monotonic()
        with self._changed:
            retries = self._times.get((webhook_id, partition), {})
            return next((retry for retry, due in retries.items() if due <= now), None)

    def remove(self, webhook_id: int, partition: int, retry: PreciseRetry) -> None:
        """Remove a retry, if it is scheduled."""
        with self._changed:
            retries = self._times.get((webhook_id, partition), {})
            if retries.pop(retry, None) is not None:
                self._count -= 1
            if not retries:
                self._times.pop((webhook_id, partition), None)

    def due_partitions(self) -> list[_Partition]:
        """Partitions with a due retry. Drops retries that have been overdue for too long."""
        now = time.monotonic()
        with self._changed:
            for partition, retries in list(self._times.items()):
                for retry in [retry for retry, due in retries.items() if due <= now - SECONDS_UNTIL_DROPPED]:
                    self.remove(*partition, retry)
            return [partition for partition, retries in self._times.items() if min(retries.values()) <= now]

    def _wake_forever(self) -> None:
        pause = threading.Event()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._times)
            for webhook_id, partition in self.due_partitions():
                wake_at_once(DELIVER, webhook_id=webhook_id, partition=partition)
            pause.wait(SECONDS_BETWEEN_CHECKS)


schedule = RetrySchedule()
