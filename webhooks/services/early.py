"""Retries that come sooner than their rows may say (decisions 8.8).

The row of what tells of an anonymous response names the end of an hour, or of a day, while its first retries
are due after seconds and minutes. When exactly is known to the process that failed, and to nobody else:
neither to the database nor to the broker. What it forgets as it ends comes when the row says.
"""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass
from datetime import timedelta

from communities.queue import wake_at_once
from webhooks.services.outbox import DELIVER

LONGEST = timedelta(minutes=5.5)  # what comes later than that is left to the rows
MOST = 10_000  # that one process keeps in mind
SECONDS_BETWEEN_LOOKS = 2.0
SECONDS_UNTIL_GIVEN_UP = 600.0  # where its lane is never free, or another process always woken

_Lane = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Early:
    """A delivery that is to be tried before its row says so, if it was tried so often and not more."""

    delivery_id: uuid.UUID
    attempts: int


class Reminders:
    """What is to be tried early, by webhook and lane, and the thread that wakes a worker when it is time."""

    def __init__(self) -> None:
        self._of: dict[_Lane, dict[Early, float]] = {}
        self._count = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, webhook_id: int, lane: int, early: Early, *, wait: timedelta) -> None:
        """Have it tried after a while. More than memory is to bear is left to the rows."""
        with self._changed:
            if self._count >= MOST:
                return
            self._of.setdefault((webhook_id, lane), {})[early] = time.monotonic() + wait.total_seconds()
            self._count += 1
            if self._thread is None:
                thread = threading.Thread(target=self._remind_for_ever, name="reminders", daemon=True)
                thread.start()
                self._thread = thread
            self._changed.notify()

    def due(self, webhook_id: int, lane: int) -> Early | None:
        """One whose time has come; it stays in mind until it is removed."""
        now = time.monotonic()
        with self._changed:
            own = self._of.get((webhook_id, lane), {})
            return next((early for early, at in own.items() if at <= now), None)

    def remove(self, webhook_id: int, lane: int, early: Early) -> None:
        with self._changed:
            own = self._of.get((webhook_id, lane), {})
            if own.pop(early, None) is not None:
                self._count -= 1
            if not own:
                self._of.pop((webhook_id, lane), None)

    def lanes_due(self) -> list[_Lane]:
        """Lanes in which something is due; what has waited for too long is forgotten."""
        now = time.monotonic()
        with self._changed:
            for lane, own in list(self._of.items()):
                for early in [early for early, at in own.items() if at <= now - SECONDS_UNTIL_GIVEN_UP]:
                    self.remove(*lane, early)
            return [lane for lane, own in self._of.items() if min(own.values()) <= now]

    def _remind_for_ever(self) -> None:
        pause = threading.Event()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._of)
            for webhook_id, lane in self.lanes_due():
                wake_at_once(DELIVER, webhook_id=webhook_id, lane=lane)
            pause.wait(SECONDS_BETWEEN_LOOKS)


reminders = Reminders()
