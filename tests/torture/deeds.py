"""What the clients know to have happened, to be held against what was told of it."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

Deed = tuple[str, str]  # the type of its event, and the id of the project or response


class Deeds:
    """Filled by all clients at once. `seen` is what the interface told of a thing when it was done."""

    def __init__(self) -> None:
        self.counted: Counter[Deed] = Counter()
        self.seen: dict[Deed, dict[str, Any]] = {}
        self.faults: list[str] = []
        self._lock = threading.Lock()

    def note(self, type: str, id: str, seen: dict[str, Any] | None = None) -> None:
        with self._lock:
            self.counted[type, id] += 1
            if seen is not None:
                self.seen[type, id] = seen

    def fault(self, told: str) -> None:
        with self._lock:
            self.faults.append(told)
