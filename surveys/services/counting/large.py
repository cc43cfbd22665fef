"""Limits for counting many responses, which takes a second of CPU, and a cache of the counts.

with counting_slot(max_wait=…):   one count at a time; others wait for some seconds, or are refused
keep(key, counted)                caches counts until memory is needed for others
kept(key, kind, changes=…)        the cached counts, as long as the answers have not changed
with stopped(key, …):             a count whose statements may take some seconds, together
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from cachetools import LRUCache, TTLCache

from communities.ground.errors import Unavailable, refuse
from communities.ground.transactions import TakesTooLong, stopped_after
from surveys.services.ground import selecting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from surveys.engine.statistics import AnswerGroup, EntryKey

LARGE = 50_000  # A project has many responses from this number on. The count takes 50 ms.
MUCH_ADDED = 2_000_000  # A count that adds more values is one of many responses. NumPy adds them in 50 ms.
AT_ONCE = 1
RETRY_AFTER = 2  # seconds
SECONDS_FOR_SHOWN = 2.0
BUSY = "Other results of many responses are being counted. Please retry shortly."
MOST_SECONDS = 10  # of a count in segments
SECONDS_STOPPED = 600  # For this time a count that took too long is not begun again.
TOO_LONG = (
    "Counting this takes too long, because each response is in many segments. Select fewer responses by "
    "`where` or by time, or compare by a question with fewer options."
)
MAX_STOPPED = 1_000
MAX_BYTES = 32 * 1024 * 1024
BYTES_OF_A_CHARACTER = 4  # A character takes at most this many bytes.
BYTES_OF_A_GROUP = 450
BYTES_OF_A_SPREAD = 1_200


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts at the moment when the tally had this number of `changes`."""

    changes: int
    listed: int
    completed: int
    groups: Mapping[int, list[AnswerGroup]]
    of_segments: Mapping[EntryKey, Mapping[int, list[AnswerGroup]]]
    # The counts of the statement in the module `derived`, if requested.
    derived: Mapping[str, Sequence[Sequence[Any]]] | None = None
    # The numbers of responses by the value of the segmenting field.
    values: Mapping[str, int] = field(default_factory=dict)
    # The counts of the statement in the module `fields`, if requested.
    sent: Mapping[str, Sequence[Sequence[Any]]] | None = None
    # The counts of the statement in the module `themes`, if requested.
    themes: Mapping[str, Sequence[Sequence[Any]]] | None = None
    # The figures about the weights, and the same counts by weights, if requested.
    weighting: Mapping[str, Any] | None = None
    weighted: Counted | None = None

    @property
    def size(self) -> int:
        parts = (self.groups, *self.of_segments.values())
        groups = [group for part in parts for own in part.values() for group in own]
        spreads = sum(group.spread is not None for group in groups)
        parts_of_rows = (self.derived or {}, self.sent or {}, self.themes or {})
        lists = [rows for part in parts_of_rows for rows in part.values()]
        rows = sum(len(rows or ()) for rows in lists) + len(self.values)
        own = BYTES_OF_A_GROUP * (1 + rows + len(groups)) + BYTES_OF_A_SPREAD * spreads
        return own + (self.weighted.size if self.weighted else 0)


class Countable(Protocol):
    """Counts that can be cached."""

    @property
    def changes(self) -> int: ...

    @property
    def size(self) -> int: ...


Kind = TypeVar("Kind", bound=Countable)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Cached counts, and their size. The size includes the key, which contains the values of filters."""

    counted: Countable
    size: int


def _size(kept: _Kept) -> int:
    return kept.size


_slots = BoundedSemaphore(AT_ONCE)
_kept: LRUCache[Hashable, _Kept] = LRUCache(MAX_BYTES, getsizeof=_size)
_stopped: TTLCache[Hashable, bool] = TTLCache(MAX_STOPPED, SECONDS_STOPPED)
_lock = Lock()


@contextmanager
def counting_slot(*, max_wait: float | None) -> Iterator[None]:
    """Let one thread of the process count. Raises Unavailable for other threads after `max_wait` seconds.

    Requests for a filter or segments do not wait: each waiting request would occupy one of the process's few
    threads, and votes would have none. Shared results, which are cached after the count, wait for
    SECONDS_FOR_SHOWN. Workers wait without a limit (None).
    """
    slots = _slots
    if not slots.acquire(timeout=max_wait):
        raise Unavailable(BUSY, retry_after=RETRY_AFTER)
    try:
        yield
    finally:
        slots.release()


def keep(key: Hashable, counted: Countable) -> None:
    entry = _Kept(counted, counted.size + BYTES_OF_A_CHARACTER * len(repr(key)))
    with _lock:
        _kept.pop(key, None)
        if entry.size <= _kept.maxsize:
            _kept[key] = entry


def kept(key: Hashable, kind: type[Kind], *, changes: int) -> Kind | None:
    with _lock:
        entry = _kept.get(key)
    if entry is None or entry.counted.changes != changes:
        return None
    return entry.counted if isinstance(entry.counted, kind) else None


@contextmanager
def stopped(key: Hashable, parameter: str | None, *, max_wait: float | None) -> Iterator[None]:
    """Stop a count that takes too long, and refuse it here and in `refuse_stopped`.

    `parameter` divides the count into segments; without one, an expression selects among all responses.
    Workers, which wait without a limit (None), count to the end.
    """
    if max_wait is None:
        yield
        return
    try:
        with stopped_after(selecting.MOST_SECONDS if parameter is None else MOST_SECONDS):
            yield
    except TakesTooLong:
        with _lock:
            _stopped[hash(key)] = True
        _refuse(parameter)


def refuse_stopped(key: Hashable, parameter: str | None) -> None:
    """Refuse a count that has been stopped, so that another attempt takes no time."""
    with _lock:
        is_stopped = hash(key) in _stopped
    if is_stopped:
        _refuse(parameter)


def _refuse(parameter: str | None) -> NoReturn:
    if parameter is None:
        raise Unavailable(selecting.TOO_LONG, retry_after=SECONDS_STOPPED)
    refuse(parameter, "too_large", TOO_LONG)
