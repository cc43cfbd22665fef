"""What a project's results page tells everybody who has its address: aggregates alone (decisions 8.14).

Counting takes longer with every response, and a page that many look at must not count for each of them.
What was counted is kept in the process while nothing has changed, and where much is to be counted also for a
while after something has.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from communities.errors import NotFound
from communities.services import get_settings
from surveys.engine.script import QUESTIONS
from surveys.models import Analysis, Project
from surveys.services import anonymity
from surveys.services.projects.addresses import Destination
from surveys.services.results import figures

# 100,000 responses are shown as they stood up to five seconds ago, which takes a twentieth of a process's
# time at 250 ms for each count.
RESPONSES_PER_SECOND_KEPT = 20_000
MOST_KEPT = 500

Told = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SharedResults:
    """Figures as anybody may see them. `blocks` are AnalysisBlocks of questions, without drop-off.

    Where `least_answers` is a number, questions with fewer answers are withheld: `is_withheld` is true and
    everything counted is null. `response_count` is then null too, as it would tell the last of them.
    """

    counted_at: datetime
    conversation_count: int
    completion_count: int
    response_count: int | None
    least_answers: int | None
    blocks: Sequence[Told]


def find(*, token: uuid.UUID) -> Destination:
    """The project whose results are shared under this token. Raises NotFound, also once they are not."""
    project = (
        Project.objects.select_related("community").filter(results_token=token, share_results=True).first()
    )
    if project is None:
        raise NotFound("There are no results at this address.")
    settings = get_settings(community_id=project.community_id)
    return Destination(project, project.community, settings.locale or project.community.locale)


def waits_for_closing(*, project: Project, at: datetime) -> bool:
    """Whether a poll's results may be seen by everybody only once it is closed.

    Where no mode was chosen, sharing them says enough.
    """
    is_open = project.is_live_at(at) or project.is_pending_at(at)
    hides = (Project.PollResultsMode.HIDDEN, Project.PollResultsMode.VOTERS_ONLY)
    return project.is_poll and is_open and project.poll_results_mode in hides


def read(*, project: Project, at: datetime) -> SharedResults:
    """The results of a project, as far as anybody may see them."""
    least = anonymity.least_answers(project)
    counted = _counted(project, at)
    seen = counted.figures
    sentiments = _sentiments(project) if _has_texts(seen.blocks) else {}
    is_too_few = least is not None and seen.conversation_count < least
    blocks = [
        _withheld(block)
        if is_too_few or (least and block["response_count"] < least)
        else _shared(block, sentiments.get(block["block_id"]), least=least)
        for block in seen.blocks
        if block["block_type"] in QUESTIONS and not block["is_archived"]
    ]
    return SharedResults(
        anonymity.rounded(project=project, at=counted.at),
        seen.conversation_count,
        seen.completion_count,
        None if any(block["is_withheld"] for block in blocks) else seen.response_count,
        least,
        blocks,
    )


def as_json(project: Project, results: SharedResults, *, at: datetime) -> dict[str, object]:
    return {
        "name": project.name,
        "type": project.type,
        "status": "active" if project.is_live_at(at) else "inactive",
        "counted_at": results.counted_at,
        "conversation_count": results.conversation_count,
        "completion_count": results.completion_count,
        "response_count": results.response_count,
        "least_answers": results.least_answers,
        "blocks": results.blocks,
    }


# --- What is told of a question ---------------------------------------------------------------------

_WORDS = ("block_id", "block_name", "block_type", "prompt", "position")
_COUNTED = ("distribution", "stats", "ranking", "nps")


def _withheld(block: Told) -> dict[str, object]:
    told = {key: block[key] for key in _WORDS}
    nothing = dict.fromkeys(("response_count", *_COUNTED, "open_text"))
    return {**told, "is_withheld": True, **nothing}


def _shared(block: Told, sentiment: Told | None, *, least: int | None) -> dict[str, object]:
    told = {key: block[key] for key in _WORDS}
    counted = {key: block[key] for key in _COUNTED}
    if least and block["block_type"] == "open_numeric" and block["stats"]:
        # The lowest and the highest number are each what one person said.
        counted["stats"] = {**block["stats"], "min": None, "max": None}
    text = None
    if block["block_type"] == "open_text":
        is_enough = sentiment is not None and sum(sentiment.values()) >= (least or 1)
        text = {"answer_count": block["response_count"], "sentiment": sentiment if is_enough else None}
    return {
        **told,
        "is_withheld": False,
        "response_count": block["response_count"],
        **counted,
        "open_text": text,
    }


# --- What is kept -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Counted:
    figures: figures.Figures
    changes: int
    revision: int
    at: datetime

    def is_good(self, *, changes: int, revision: int, at: datetime) -> bool:
        if self.revision != revision:
            return False
        while_kept = timedelta(seconds=self.figures.conversation_count / RESPONSES_PER_SECOND_KEPT)
        return self.changes == changes or abs(at - self.at) < while_kept


@dataclass(slots=True)
class _Shelf:
    """What is kept of one project. Who counts holds the lock."""

    lock: Lock = field(default_factory=Lock)
    counted: _Counted | None = None
    analysis_id: int | None = None
    sentiments: Mapping[int, Told] = field(default_factory=dict)


_shelves: OrderedDict[int, _Shelf] = OrderedDict()
_lock = Lock()


def _counted(project: Project, at: datetime) -> _Counted:
    """What is kept, or counted anew by the first to ask; others see the old until that is done."""
    changes = figures.changes(project.pk)
    shelf = _shelf(project.pk)

    def good() -> _Counted | None:
        kept = shelf.counted
        is_good = kept and kept.is_good(changes=changes, revision=project.revision, at=at)
        return kept if is_good else None

    known, old = good(), shelf.counted
    if known is not None:
        return known
    is_of_this_script = old is not None and old.revision == project.revision
    if not shelf.lock.acquire(blocking=not is_of_this_script):
        assert old is not None
        return old
    try:  # others may have counted while this one waited
        if known := good():
            return known
        shelf.counted = _Counted(figures.count(project=project), changes, project.revision, at)
        return shelf.counted
    finally:
        shelf.lock.release()


def _shelf(project_id: int) -> _Shelf:
    with _lock:
        shelf = _shelves.setdefault(project_id, _Shelf())
        _shelves.move_to_end(project_id)
        if len(_shelves) > MOST_KEPT:
            _shelves.popitem(last=False)
        return shelf


def _has_texts(blocks: Sequence[Told]) -> bool:
    return any(block["block_type"] == "open_text" for block in blocks)


def _sentiments(project: Project) -> Mapping[int, Told]:
    """Block id → counts of sentiments, from the latest analysis; its words stay where they are."""
    done = Analysis.objects.filter(
        project=project, with_ai=True, covers=Analysis.Covers.ALL, status=Analysis.Status.COMPLETED
    ).order_by("-id")
    analysis_id = done.values_list("pk", flat=True).first()
    shelf = _shelf(project.pk)
    if analysis_id is None or shelf.analysis_id == analysis_id:
        return shelf.sentiments if analysis_id else {}
    blocks = Analysis.objects.only("blocks_as_json").get(pk=analysis_id).blocks
    shelf.sentiments = {
        int(block["block_id"]): block["open_text"]["sentiment"]
        for block in blocks
        if (block.get("open_text") or {}).get("sentiment")
    }
    shelf.analysis_id = analysis_id
    return shelf.sentiments
