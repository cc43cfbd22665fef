"""The changes that clients made, to be compared with the events about them."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

Change = tuple[str, str]  # the type of its event, and the id of the project or response


class ChangeLog:
    """The changes of all clients. `seen` is the object as the API returned it after the change."""

    def __init__(self) -> None:
        self.counted: Counter[Change] = Counter()
        self.seen: dict[Change, dict[str, Any]] = {}
        self.errors: list[str] = []
        self._lock = threading.Lock()

    def add(self, type: str, id: str, seen: dict[str, Any] | None = None) -> None:
        with self._lock:
            self.counted[type, id] += 1
            if seen is not None:
                self.seen[type, id] = seen

    def add_error(self, message: str) -> None:
        with self._lock:
            self.errors.append(message)
