"""Figures for people who may not read single responses, cached in the process.

Counting takes longer with every response, and a page with many visitors must not count for each visitor. The
figures of a project are reused while its answers do not change, and large figures also for some seconds after
a change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

import orjson
from cachetools import LRUCache

from communities.ground.errors import Unavailable
from surveys.models import Analysis, Project
from surveys.services.counting import large
from surveys.services.results import figures, steps, very_large
from surveys.services.results.figures import ALL, Figures, Selection, ShownFigures
from surveys.services.scripts import cache as script_cache

# Figures over 100,000 responses are up to five seconds old. Each count takes 250 ms, so counting takes a
# twentieth of a process's time.
RESPONSES_PER_CACHED_SECOND = 20_000
MAX_BYTES = 64 * 1024 * 1024
# The figures of one block with a hundred options are 9 kB of JSON and take 34 kB of memory.
BYTES_FOR_ONE_OF_JSON = 4
BYTES_OF_AN_ENTRY = 1_000
MAX_LOCKS = 10_000

Sentiments = Mapping[int, Mapping[str, int]]  # The number of answers with each sentiment, by block id.


@dataclass(frozen=True, slots=True)
class CachedFigures:
    """Figures, and the state of the project in which they were counted. `cached_at` is never shown."""

    figures: Figures
    counted_at: datetime
    changes: int
    revision: int
    is_anonymous: bool
    selection: Selection
    cached_at: datetime
    size: int
    conditional_ids: Collection[int]

    def is_of(self, project: Project, selection: Selection) -> bool:
        """Whether the figures belong to this script and selection, and show no more than the project's
        privacy allows.
        """
        own = (self.revision, self.is_anonymous, self.selection)
        return own == (project.revision, project.is_anonymous, selection)

    def is_fresh(self, *, changes: int, at: datetime) -> bool:
        lifetime = timedelta(seconds=self.figures.conversation_count / RESPONSES_PER_CACHED_SECOND)
        return self.changes == changes or abs(at - self.cached_at) < lifetime


@dataclass(frozen=True, slots=True)
class _CachedSentiments:
    analysis_id: int
    is_anonymous: bool
    sentiments: Sentiments
    size: int

    def is_of(self, project: Project, analysis_id: int) -> bool:
        return (self.analysis_id, self.is_anonymous) == (analysis_id, project.is_anonymous)


def _size(cached: CachedFigures | _CachedSentiments) -> int:
    return cached.size


def _size_of(value: object) -> int:
    return BYTES_OF_AN_ENTRY + BYTES_FOR_ONE_OF_JSON * len(
        orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    )


_cached: LRUCache[tuple[str, int], CachedFigures | _CachedSentiments] = LRUCache(MAX_BYTES, getsizeof=_size)
# The locks by project id. The thread that counts owns the lock.
_counting: LRUCache[int, Lock] = LRUCache(MAX_LOCKS)
_lock = Lock()


def counted(*, project: Project, at: datetime, selection: Selection = ALL) -> CachedFigures:
    """The project's figures, or those of the selection of its dashboard.

    The first thread that finds stale figures counts again; the other threads return the stale figures.
    Figures of an older script are never returned: a thread without other figures waits for the count for some
    seconds. Raises Unavailable if the process is counting these or other figures for longer, or if a count
    takes too long, and has no stale figures to return.
    """
    changes = figures.changes(project.pk)

    def fresh() -> CachedFigures | None:
        cached = _figures_of(project, selection)
        return cached if cached is not None and cached.is_fresh(changes=changes, at=at) else None

    if (cached := fresh()) is not None:
        return cached
    stale = _figures_of(project, selection)
    lock = _lock_of(project.pk)
    if not lock.acquire(timeout=large.SECONDS_FOR_SHOWN if stale is None else 0):
        if stale is None:
            raise Unavailable(large.BUSY, retry_after=large.RETRY_AFTER)
        return stale
    try:
        if (cached := fresh()) is not None:  # Another thread has counted while this thread waited.
            return cached
        try:
            max_wait = large.SECONDS_FOR_SHOWN if stale is None else 0.0
            shown = _shown(project, selection, at, max_wait)
        except Unavailable:
            if stale is None:
                raise
            return stale
        cached = CachedFigures(
            figures=shown.figures,
            counted_at=shown.counted_at,
            changes=changes,
            revision=project.revision,
            is_anonymous=project.is_anonymous,
            selection=selection,
            cached_at=at,
            size=_size_of(shown.figures.blocks),
            conditional_ids=script_cache.of(project).stored.conditional_ids,
        )
        _keep(_kind(selection), project.pk, cached)
        return cached
    finally:
        lock.release()


def _shown(project: Project, selection: Selection, at: datetime, max_wait: float) -> ShownFigures:
    """Count. Of a selection among very many responses a worker counts: raises Unavailable until it has."""
    if selection == ALL or figures.responses(project.pk) < very_large.VERY_LARGE:
        return figures.shown(project=project, at=at, max_wait=max_wait, selection=selection)
    found = very_large.count(project=project, selection=selection, segment_by=None, derives=False, at=at)
    if not isinstance(found, Figures):
        raise Unavailable(very_large.BUSY, retry_after=very_large.SECONDS_TO_RETRY)
    return ShownFigures(found, at)


def totals(*, projects: Sequence[Project], at: datetime) -> dict[int, dict[str, int]]:
    """The counts to show beside anonymous projects (`steps.totals`)."""

    def count(project: Project) -> None:
        with suppress(Unavailable):  # The earlier counts are shown until the process has time.
            counted(project=project, at=at)

    return steps.totals(projects=projects, count=count) if projects else {}


def sentiments(*, project: Project) -> Sentiments:
    """Counts of sentiments from the latest analysis of all responses, without any text.

    On anonymous projects these counts change in steps, together with the analysis that is shown.
    """
    completed = Analysis.objects.filter(
        project=project, with_ai=True, covers=Analysis.Covers.ALL, status=Analysis.Status.COMPLETED
    ).order_by("-id")
    analysis_id = completed.values_list("pk", flat=True).first()
    if analysis_id is None:
        return {}
    with _lock:
        cached = _cached.get(("sentiments", project.pk))
    if isinstance(cached, _CachedSentiments) and cached.is_of(project, analysis_id):
        return cached.sentiments
    blocks = Analysis.objects.only("blocks_as_json").get(pk=analysis_id).blocks
    if project.is_anonymous:
        texts = steps.texts(project=project, analysis_id=analysis_id, blocks=blocks)
    else:
        texts = {int(block["block_id"]): block.get("open_text") for block in blocks}
    found = {
        block_id: text["sentiment"] for block_id, text in texts.items() if text and text.get("sentiment")
    }
    _keep(
        "sentiments", project.pk, _CachedSentiments(analysis_id, project.is_anonymous, found, _size_of(found))
    )
    return found


def _figures_of(project: Project, selection: Selection) -> CachedFigures | None:
    with _lock:
        cached = _cached.get((_kind(selection), project.pk))
    return cached if isinstance(cached, CachedFigures) and cached.is_of(project, selection) else None


def _kind(selection: Selection) -> str:
    return "figures" if selection == ALL else "dashboard"


def _keep(kind: str, project_id: int, cached: CachedFigures | _CachedSentiments) -> None:
    with _lock:
        _cached.pop((kind, project_id), None)
        if cached.size <= _cached.maxsize:
            _cached[kind, project_id] = cached


def _lock_of(project_id: int) -> Lock:
    with _lock:
        return _counting.setdefault(project_id, Lock())
