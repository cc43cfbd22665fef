"""Slots for work that occupies a thread of the process for seconds. No owner gets all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from communities.ground.errors import Unavailable


class Slots:
    """Slots for a number of jobs at a time. One owner has at most `most_of_one` of them."""

    def __init__(self, count: int, *, most_of_one: int = 1) -> None:
        self.free = count
        self._most_of_one = most_of_one
        self._taken: Counter[str] = Counter()
        self._changed = Condition()

    def acquire(self, owner: str, *, timeout: float) -> bool:
        """Take a slot, and wait up to `timeout` seconds. Returns False if the owner gets no slot."""
        with self._changed:
            may_take = self._changed.wait_for(
                lambda: self.free > 0 and self._taken[owner] < self._most_of_one, timeout
            )
            if may_take:
                self.free -= 1
                self._taken[owner] += 1
            return may_take

    @contextmanager
    def held(self, owner: str, *, timeout: float, busy: str, retry_after: int) -> Iterator[None]:
        """Hold a slot. Raises Unavailable with the sentence `busy` if the owner gets none in time."""
        if not self.acquire(owner, timeout=timeout):
            raise Unavailable(busy, retry_after=retry_after)
        try:
            yield
        finally:
            self.release(owner)

    def release(self, owner: str) -> None:
        """Give a slot back. Raises ValueError if the owner has no slot."""
        with self._changed:
            if not self._taken[owner]:
                raise ValueError("This owner has no slot.")
            self.free += 1
            self._taken[owner] -= 1
            if not self._taken[owner]:
                del self._taken[owner]
            self._changed.notify_all()


# The limit of a process (rule 11.30). Imports, conversions and files take up to 120 MB of memory each, and a
# thread for seconds; pages and votes need threads, too. One community, or one person with their own data, may
# use one slot.
LARGE_JOBS = 2
large_jobs = Slots(LARGE_JOBS)


def of_community(community_id: int) -> str:
    """The owner of large jobs with a community's data."""
    return f"community {community_id}"


def of_user(user_id: int) -> str:
    """The owner of large jobs with a person's own data."""
    return f"user {user_id}"
