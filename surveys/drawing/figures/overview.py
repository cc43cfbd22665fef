"""Results in the admin beyond their charts: participation, drop-off, text analysis, segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from communities.ground.words import percent, plural
from surveys.drawing.figures.charts import (
    NOBODY,
    NOBODY_SELECTED,
    Card,
    ChartBar,
    DataTable,
    Fact,
    draw_card,
)
from surveys.drawing.figures.segments import SegmentComparison, compare, legend_of
from surveys.drawing.figures.solutions import with_solution
from surveys.drawing.figures.texts import TextAnalysis, sentiment_parts, text_analysis
from surveys.engine.flow.wording import heading
from surveys.models import Analysis, Project
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.results import figures
from surveys.services.results.figures import Figures
from surveys.services.scripts import cache as script_cache

COMPLETED, FAILED = Analysis.Status.COMPLETED, Analysis.Status.FAILED


@dataclass(frozen=True, slots=True)
class StaffCard:
    """A question's card with the details that only staff see.

    `is_text` marks open texts, and `is_read` those that analyses read.
    """

    card: Card
    is_text: bool
    is_read: bool
    drop_off: str
    text_analysis: TextAnalysis | None
    comparison: SegmentComparison | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many people remained after each question; people who were not asked it are included."""

    bars: Sequence[ChartBar]
    table: DataTable


@dataclass(frozen=True, slots=True)
class AnalysisOffer:
    """A new analysis: the open answers that it reads, its price in credits, and the credits that are left."""

    answers: int
    cost: int
    left: int

    @property
    def price(self) -> str:
        return plural(self.cost, "credit")

    @property
    def is_affordable(self) -> bool:
        return self.cost <= self.left

    @property
    def left_after(self) -> int:
        return self.left - self.cost


@dataclass(frozen=True, slots=True)
class AnalysisStatus:
    """The newest completed analysis, and the newest one if it is running or has failed.

    `has_changed` is true if responses or questions have changed since the completed analysis. `offer` is the
    analysis that a request would start; None if it would start none.
    """

    done: Analysis | None
    running: Analysis | None
    failed: Analysis | None
    has_changed: bool
    offer: AnalysisOffer | None


def facts_of(counted: Figures, *, is_poll: bool) -> Sequence[Fact]:
    """Return the participation figures. A vote is always completed, and answers one question."""
    if is_poll:
        return (Fact("Votes", f"{counted.conversation_count:,}"),)
    completed = counted.completion_count
    total = counted.conversation_count
    completed_text = f"{completed:,}"
    if total and completed <= total:
        completed_text = f"{completed_text} ({percent(completed / total * 100)})"
    return (
        Fact("Responses", f"{total:,}"),
        Fact("Completed", completed_text),
        Fact("Answered questions", f"{counted.response_count:,}"),
    )


def funnel_of(project: Project, counted: Figures) -> Funnel | None:
    """Return how many people remained after each question; None if nobody left."""
    blocks = [block for block in counted.blocks if not block["is_archived"]]
    drop_offs = [block["drop_off"]["left"] for block in blocks]
    begun = counted.completion_count + sum(drop_offs)
    if not sum(drop_offs):
        return None
    script = script_cache.script_of(project)
    remaining, bars, rows = begun, [], []
    for block, left in zip(blocks, drop_offs, strict=True):
        remaining -= left
        percentage = remaining / begun * 100
        note = _left_here(left)
        prompt = " ".join(heading(block["prompt"], script).split())
        bars.append(ChartBar(prompt, remaining, percent(percentage), f"{percentage:.2f}", note=note))
        rows.append((prompt, f"{left:,}", percent(left / begun * 100), f"{remaining:,}", percent(percentage)))
    head = ("Question", "Left here", "Share", "Still taking part", "Share")
    return Funnel(bars, DataTable(head, rows))


def texts_of(counted: Figures, done: Analysis | None, *, is_narrowed: bool) -> dict[int, Any]:
    """Return the `open_text` of each question, by block id: counts of now, with words of the analysis.

    The words are about all responses, so a selection (`is_narrowed`) is shown without them.
    """
    analysed = done.blocks if done is not None and not is_narrowed else ()
    words = {block["block_id"]: text for block in analysed if (text := block.get("open_text"))}
    counts = {block["block_id"]: text for block in counted.blocks if (text := block["open_text"])}
    return words | {block_id: _with_words(text, words.get(block_id)) for block_id, text in counts.items()}


def _with_words(text: Mapping[str, Any], words: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if words is None:
        return text
    quotes = {theme["title"]: theme["quotes"] for theme in words["themes"]}
    themes = [{**theme, "quotes": quotes.get(theme["title"], [])} for theme in text["themes"]]
    return {**text, "summary": words["summary"], "themes": themes}


def cards_of(
    project: Project,
    counted: Figures,
    texts: Mapping[int, Any],
    *,
    is_filtered: bool = False,
    marks_solutions: bool = False,
    right_sets: Mapping[int, int] = MappingProxyType({}),
) -> list[StaffCard]:
    """Return the questions of the script, then removed ones.

    The question that divides the figures is not compared with itself. With `is_filtered`, a question without
    answers says that it has none of the selected responses. `marks_solutions` marks the correct answers; only
    for readers who may know them. `right_sets` are from `figures.right_sets`.

    `texts` are the `open_text` of questions, by block id.
    """
    catalogue = script_cache.of(project).catalogue
    legend = legend_of(counted.segments or ())
    divided_by = counted.segment_by and counted.segment_by["block_id"]
    questions = [entry for entry in counted.blocks if entry["block_type"] != "content_block"]
    nobody = NOBODY_SELECTED if is_filtered else NOBODY
    cards = []
    for number, entry in enumerate(questions, start=1):
        block = catalogue.blocks.get(entry["block_id"])
        card = draw_card(entry, block, script=catalogue.script, number=number, nobody=nobody)
        if marks_solutions and block is not None:
            card = with_solution(card, entry, block, exact=right_sets.get(card.id))
        comparison = None
        if legend and not card.notice and card.id != divided_by:
            comparison = compare(entry, block, legend)
        is_text = entry["block_type"] == "open_text"
        question = StaffCard(
            card=card,
            is_text=is_text,
            is_read=block is not None and block.is_read,
            drop_off=_left_here(entry["drop_off"]["left"]) if entry["drop_off"] else "",
            text_analysis=None,
            comparison=comparison,
        )
        is_weighted = counted.weighting is not None
        cards.append(_with_texts(question, texts.get(card.id), is_weighted=is_weighted))
    return cards


def _with_texts(question: StaffCard, open_text: Any, *, is_weighted: bool) -> StaffCard:
    if not open_text or question.card.notice:
        return question
    card = replace(question.card, parts=sentiment_parts(open_text["sentiment"]))
    return replace(question, card=card, text_analysis=text_analysis(open_text, is_weighted=is_weighted))


def _left_here(count: int) -> str:
    return f"{count:,} left here" if count else ""


def analysis_status(project: Project, *, covers: str) -> AnalysisStatus:
    """Return the state of the analysis of all, completed or partial responses (`covers`)."""
    newest = done = analysis.latest(project=project, covers=covers, with_ai=True)
    if newest is not None and newest.status != COMPLETED:
        done = analysis.latest(project=project, covers=covers, with_ai=True, status=COMPLETED)
    is_running = newest is not None and not newest.is_finished
    changes = figures.changes(project.pk)
    is_current = done is not None and analysis.is_current(done, project=project, changes=changes)
    return AnalysisStatus(
        done=done,
        running=newest if is_running else None,
        failed=newest if newest is not None and newest.status == FAILED else None,
        has_changed=done is not None and analysis.has_changed(done, project=project, changes=changes),
        offer=None if is_running or is_current else _offer(project, covers),
    )


def _offer(project: Project, covers: str) -> AnalysisOffer:
    """Return the answers that a new analysis reads, and its price, by the same rule that charges it."""
    return AnalysisOffer(
        answers=analysis.count_texts(project=project, covers=covers),
        cost=analysis.price(project=project, covers=covers),
        left=project.community.bot_credits,
    )
