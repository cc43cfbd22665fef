"""Results shared with everybody who has the address: aggregates only (rule 6.58)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.ground import brands
from communities.ground.errors import InvalidRequest, NotFound
from communities.services import get_settings
from surveys.engine.script import QUESTIONS
from surveys.models import Dashboard, Project
from surveys.services.ground import anonymity
from surveys.services.projects.addresses import Destination
from surveys.services.representations import analysis as analysis_json
from surveys.services.results import cache, dashboards
from surveys.services.results.figures import ALL

BlockJson = Mapping[str, Any]

NOTHING = "There are no results at this address."
_DESCRIPTION = ("block_id", "block_name", "block_type", "prompt", "position", "since", "added_options")
_COUNTED = ("response_count", "distribution", "stats", "histogram", "ranking", "nps", "could_see_count")


@dataclass(frozen=True, slots=True)
class SharedResults:
    """Figures that anybody may see. `blocks` are AnalysisBlocks of questions, without drop-off.

    If `least_answers` is a number, questions with fewer answers are withheld: `is_withheld` is true and every
    count is null. `response_count` is then null too, because it would reveal the withheld count. `board` is
    the dashboard with these blocks, if they are not all.
    """

    counted_at: datetime
    conversation_count: int
    completion_count: int
    response_count: int | None
    least_answers: int | None
    blocks: Sequence[BlockJson]
    board: Dashboard | None = None
    weighting: Mapping[str, Any] | None = None

    @property
    def hides_counts(self) -> bool:
        """Whether the dashboard selects so few responses that nobody is told how many."""
        is_enough = anonymity.is_enough(self.conversation_count, least=self.least_answers)
        return self.board is not None and not is_enough


def find(*, token: uuid.UUID) -> Destination:
    """The project that shares its results under this token. Raises NotFound if no project does (any more)."""
    project = (
        Project.objects.select_related("community", "dashboard")
        .filter(results_token=token, share_results=True)
        .first()
    )
    if project is None:
        raise NotFound(NOTHING)
    settings = get_settings(community_id=project.community_id)
    locale = settings.locale or project.community.locale
    return Destination(project, project.community, locale, brand=brands.of(settings))


def waits_for_closing(*, project: Project, at: datetime) -> bool:
    """Return whether a poll's shared results are hidden until the poll is closed.

    A poll without a results mode shows its results at once, because its creator chose to share them.
    """
    is_open = project.is_live_at(at) or project.is_pending_at(at)
    hides = (Project.PollResultsMode.HIDDEN, Project.PollResultsMode.VOTERS_ONLY)
    return project.is_poll and is_open and project.poll_results_mode in hides


def board_of(project: Project) -> Dashboard | None:
    """The dashboard that takes the place of all questions at the address of the shared results, if any.

    Raises NotFound for a narrowed one of a project that has become anonymous since.
    """
    board = dashboards.of(project)
    if board is None or not board.is_shared:
        return None
    if project.is_anonymous and board.is_narrowed:
        raise NotFound(NOTHING)
    return board


def read(*, project: Project, at: datetime, board: Dashboard | None = None) -> SharedResults:
    """The results of a project, or the charts of its dashboard, without anything that identifies single
    people.

    Of a selection, questions with few answers are withheld, as on anonymous projects. Raises NotFound if the
    dashboard cannot be counted any more, and what `cache.counted` raises.
    """
    is_narrowed = board is not None and board.is_narrowed
    least = anonymity.LEAST_ANSWERS if is_narrowed else anonymity.least_answers(project)
    try:
        selection = dashboards.selection_of(board) if board is not None else ALL
        cached = cache.counted(project=project, at=at, selection=selection)
    except InvalidRequest:  # the field of its weight is not declared any more, or something it names
        raise NotFound(NOTHING) from None
    figures = cached.figures
    questions: Sequence[BlockJson] = [
        block for block in figures.blocks if block["block_type"] in QUESTIONS and not block["is_archived"]
    ]
    answered: int | None = figures.response_count
    if board is not None:
        questions = dashboards.chosen(board, questions)
        answered = sum(block["response_count"] for block in questions)
    has_texts = any(block["block_type"] == "open_text" for block in questions) and not is_narrowed
    sentiments = cache.sentiments(project=project) if has_texts else {}
    is_enough = anonymity.is_enough(figures.conversation_count, least=least)
    if is_enough:
        protected = [
            anonymity.protected(
                block,
                least=analysis_json.least_answers(block, least=least, conditional_ids=cached.conditional_ids),
            )
            for block in questions
        ]
    else:
        protected = [anonymity.withheld(block) for block in questions]
    blocks = [_block_as_json(block, sentiments.get(block["block_id"]), least=least) for block in protected]
    return SharedResults(
        anonymity.rounded(project=project, at=cached.counted_at),
        figures.conversation_count,
        figures.completion_count,
        None if any(block["is_withheld"] for block in blocks) else answered,
        least,
        blocks,
        board,
        figures.weighting if is_enough else None,
    )


def as_json(project: Project, results: SharedResults, *, at: datetime) -> dict[str, object]:
    return {
        "name": project.name,
        "type": project.type,
        "status": "active" if project.is_live_at(at) else "inactive",
        "counted_at": results.counted_at,
        "conversation_count": None if results.hides_counts else results.conversation_count,
        "completion_count": None if results.hides_counts else results.completion_count,
        "response_count": results.response_count,
        "least_answers": results.least_answers,
        "blocks": results.blocks,
        **_of_board(results),
    }


def _of_board(results: SharedResults) -> dict[str, object]:
    if results.board is None:
        return {}
    return {
        "title": results.board.title,
        "is_selected": bool(results.board.where),
        "weighting": results.weighting,
    }


def _block_as_json(
    block: BlockJson, sentiment: Mapping[str, int] | None, *, least: int | None
) -> dict[str, object]:
    """A block that `anonymity` has protected, with counts instead of the texts of an open question."""
    is_withheld = block["response_count"] is None
    text = None
    if block["block_type"] == "open_text" and not is_withheld:
        is_enough = sentiment is not None and sum(sentiment.values()) >= (least or 1)
        text = {"answer_count": block["response_count"], "sentiment": sentiment if is_enough else None}
    return {
        **{name: block[name] for name in _DESCRIPTION},
        "is_withheld": is_withheld,
        **{name: block[name] for name in _COUNTED},
        **({"weighted_count": block["weighted_count"]} if "weighted_count" in block else {}),
        "open_text": text,
    }
