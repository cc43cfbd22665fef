"""Figures of shared results, cached in the process.

Counting takes longer with every response, and a page with many visitors must not count for each of them. The
figures of a project are reused while its answers have not changed, and large ones also for some seconds after
a change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from cachetools import LRUCache

from surveys.models import Analysis, Project
from surveys.services.results import figures
from surveys.services.results.figures import Figures

# Figures over 100,000 responses are up to five seconds old. At 250 ms for each count, counting takes a
# twentieth of a process's time.
RESPONSES_PER_CACHED_SECOND = 20_000
MAX_PROJECTS = 500

Sentiments = Mapping[int, Mapping[str, int]]  # by block id: how many answers have each sentiment


@dataclass(frozen=True, slots=True)
class CachedFigures:
    """Figures, and the state of the project that they were counted in."""

    figures: Figures
    changes: int
    revision: int
    counted_at: datetime

    def is_fresh(self, *, changes: int, revision: int, at: datetime) -> bool:
        if self.revision != revision:
            return False
        lifetime = timedelta(seconds=self.figures.conversation_count / RESPONSES_PER_CACHED_SECOND)
        return self.changes == changes or abs(at - self.counted_at) < lifetime


@dataclass(slots=True)
class _Entry:
    """What is cached for one project. A thread that counts holds the lock."""

    lock: Lock = field(default_factory=Lock)
    cached: CachedFigures | None = None
    analysis_id: int | None = None
    sentiments: Sentiments = field(default_factory=dict)


_entries: LRUCache[int, _Entry] = LRUCache(maxsize=MAX_PROJECTS)
_lock = Lock()


def counted(*, project: Project, at: datetime) -> CachedFigures:
    """The project's figures. The first thread that finds them stale counts; others get the stale ones.

    Figures of an older script are never returned: threads that have no others wait for the count.
    """
    changes = figures.changes(project.pk)
    entry = _entry(project.pk)

    def fresh() -> CachedFigures | None:
        cached = entry.cached
        if cached is not None and cached.is_fresh(changes=changes, revision=project.revision, at=at):
            return cached
        return None

    if (cached := fresh()) is not None:
        return cached
    stale = entry.cached
    is_usable = stale is not None and stale.revision == project.revision
    if not entry.lock.acquire(blocking=not is_usable):
        assert stale is not None
        return stale
    try:
        if (cached := fresh()) is not None:  # another thread has counted while this one waited
            return cached
        entry.cached = CachedFigures(figures.count(project=project), changes, project.revision, at)
        return entry.cached
    finally:
        entry.lock.release()


def sentiments(*, project: Project) -> Sentiments:
    """Counts of sentiments from the latest analysis of all responses, without any text."""
    completed = Analysis.objects.filter(
        project=project, with_ai=True, covers=Analysis.Covers.ALL, status=Analysis.Status.COMPLETED
    ).order_by("-id")
    analysis_id = completed.values_list("pk", flat=True).first()
    if analysis_id is None:
        return {}
    entry = _entry(project.pk)
    if entry.analysis_id != analysis_id:
        analysis = Analysis.objects.only("blocks_as_json").get(pk=analysis_id)
        entry.sentiments = _sentiments_of(analysis.blocks)
        entry.analysis_id = analysis_id
    return entry.sentiments


def _sentiments_of(blocks: list[dict[str, Any]]) -> Sentiments:
    return {
        int(block["block_id"]): block["open_text"]["sentiment"]
        for block in blocks
        if (block.get("open_text") or {}).get("sentiment")
    }


def _entry(project_id: int) -> _Entry:
    with _lock:
        return _entries.setdefault(project_id, _Entry())
