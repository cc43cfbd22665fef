"""The votes in a poll, counted from the stored answers, and who may see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock

from cachetools import FIFOCache

from communities.ground.statements import fetch_rows
from communities.ground.translation import number, say
from surveys.engine.script import SCALES, Block, Option
from surveys.models import Project
from surveys.services.ground import anonymity
from surveys.services.results import cache
from surveys.services.scripts import cache as script_cache

# A count takes longer with every vote, and every page view and vote needs a count. From this number of voters
# on, each process counts at intervals and shows its last count in between.
MANY_VOTERS = 5_000
MAX_AGE = timedelta(seconds=2)
MAX_CACHED_COUNTS = 1_000


@dataclass(frozen=True, slots=True)
class PollResults:
    """`by_option` contains votes by option id (choices), `by_number` by point (scales); `voters` are people.

    If `least_answers` is a number, no votes are shown until that many people have voted. `removed` are the
    options that the question no longer has; their votes are in `by_option`, too.
    """

    by_option: Mapping[int, int]
    by_number: Mapping[int, int]
    voters: int
    least_answers: int | None = None
    removed: Sequence[Option] = ()

    @property
    def for_removed(self) -> list[tuple[Option, int]]:
        """The removed options with votes, and their votes."""
        votes = ((option, self.by_option.get(option.id or 0, 0)) for option in self.removed)
        return [(option, count) for option, count in votes if count]

    @property
    def is_withheld(self) -> bool:
        """Whether there may be votes that are not shown yet."""
        return bool(self.least_answers) and not self.voters


def may_be_seen(*, project: Project, has_voted: bool, at: datetime) -> bool:
    """Whether a visitor sees the results: `public` always, `voters_only` after voting, otherwise after the
    poll has closed.
    """
    match project.poll_results_mode:
        case Project.PollResultsMode.PUBLIC:
            return True
        case Project.PollResultsMode.VOTERS_ONLY:
            return has_voted
    return not project.is_live_at(at) and not project.is_pending_at(at)


def when_seen(project: Project) -> str:
    """A sentence for visitors who have not voted yet: when they will see the results, as `may_be_seen`
    decides.

    On an anonymous poll the sentence gives the smallest number of votes that is shown.
    """
    least = anonymity.least_answers(project)
    always, enough = _WHEN_SEEN.get(project.poll_results_mode or "", _ONCE_CLOSED)
    return say(enough, least=number(least)) if least else say(always)


_ONCE_CLOSED = (
    "The results are shown once the poll is closed.",
    "The results are shown once the poll is closed, if there are at least {least} votes.",
)
_WHEN_SEEN: Mapping[str, tuple[str, str]] = {  # of all polls, and of those with a smallest number of votes
    Project.PollResultsMode.PUBLIC: (
        "Everybody can see the results.",
        "Everybody can see the results once there are at least {least} votes.",
    ),
    Project.PollResultsMode.VOTERS_ONLY: (
        "You see the results after you have voted.",
        "You see the results after you have voted, once there are at least {least} votes.",
    ),
}


@dataclass(slots=True)
class _CachedCount:
    results: PollResults
    counted_at: datetime


_cache: FIFOCache[int, _CachedCount] = FIFOCache(MAX_CACHED_COUNTS)  # The counts by block id.
_lock = Lock()


def count(*, project: Project, block: Block, at: datetime) -> PollResults:
    """The votes on one question. If there are many votes, the count may be up to two seconds old.

    When a cached count is too old, the first caller counts again, and the other callers get the old count
    until then. On an anonymous project everybody gets the same count, which changes in steps.
    """
    assert block.id is not None
    if project.is_anonymous:
        return _shown(project, block, at)
    with _lock:
        cached = _cache.get(block.id)
        if cached is not None:
            if abs(at - cached.counted_at) < MAX_AGE:
                return cached.results
            cached.counted_at = at
    results = _count(block)
    results = replace(results, removed=_removed(project, block, results.by_option))
    with _lock:
        _cache.pop(block.id, None)
        if results.voters >= MANY_VOTERS:
            _cache[block.id] = _CachedCount(results, at)
    return results


def _shown(project: Project, block: Block, at: datetime) -> PollResults:
    least = anonymity.least_answers(project)
    blocks = cache.counted(project=project, at=at).figures.blocks
    found = next((each for each in blocks if each["block_id"] == block.id), None)
    if found is None or not anonymity.is_enough(found["response_count"], least=least):
        return PollResults({}, {}, 0, least)
    entries = found["distribution"]
    by_option = {each["option_id"]: each["count"] for each in entries if each["option_id"] is not None}
    by_number = {int(each["value"]): each["count"] for each in entries if each["option_id"] is None}
    removed = _removed(project, block, by_option)
    return PollResults(by_option, by_number, found["response_count"], least, removed)


def _removed(project: Project, block: Block, votes: Mapping[int, int]) -> Sequence[Option]:
    """The options that the block no longer has, if any of them has votes."""
    if votes.keys() <= block.option_by_id.keys():
        return ()
    stored = script_cache.of(project).stored
    return (stored.archived_options or {}).get(block.id or 0, ())


def _count(block: Block) -> PollResults:
    """Count the votes by one statement, which reads only an index.

    A voter who chose several options is counted once, by their first option.
    """
    if block.type in SCALES:
        points = fetch_rows(
            "SELECT number, count(*) FROM surveys_answer"
            " WHERE block_id = %s AND option_id IS NULL AND number IS NOT NULL GROUP BY number",
            [block.id],
        )
        by_number = {int(number): votes for number, votes in points}
        return PollResults({}, by_number, sum(by_number.values()))
    rows = fetch_rows(
        "SELECT option_id, ordinal, count(*) FROM surveys_answer"
        " WHERE block_id = %s AND option_id IS NOT NULL GROUP BY option_id, ordinal",
        [block.id],
    )
    by_option: dict[int, int] = {}
    for option_id, _, votes in rows:
        by_option[option_id] = by_option.get(option_id, 0) + votes
    return PollResults(by_option, {}, sum(votes for _, ordinal, votes in rows if ordinal == 0))
