"""The staff results page beyond its charts: participation, drop-off, text analysis, segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from communities.words import plural
from surveys.models import Analysis, Project
from surveys.pages.results.charts import Card, ChartBar, DataTable, Fact, draw_card
from surveys.pages.results.segments import SegmentComparison, compare, legend_of
from surveys.pages.results.texts import TextAnalysis, sentiment_parts, text_analysis
from surveys.pages.words import share
from surveys.services.analysis import service as analysis
from surveys.services.results import figures
from surveys.services.results.figures import Figures
from surveys.services.scripts import editing as scripts

COMPLETED, FAILED = Analysis.Status.COMPLETED, Analysis.Status.FAILED


@dataclass(frozen=True, slots=True)
class StaffCard:
    """A question's card with the details that only staff see. `is_read` says that analyses read its texts."""

    card: Card
    is_read: bool
    drop_off: str
    text_analysis: TextAnalysis | None
    comparison: SegmentComparison | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many people remained after each question."""

    bars: Sequence[ChartBar]
    table: DataTable


@dataclass(frozen=True, slots=True)
class AnalysisStatus:
    """The newest completed analysis, and the newest one if it is running or has failed.

    `has_changed`: the responses or questions changed since the completed one.
    `can_be_asked`: a request would start a new analysis. `price` is its cost in credits, empty if free.
    """

    done: Analysis | None
    running: Analysis | None
    failed: Analysis | None
    has_changed: bool
    can_be_asked: bool
    price: str


def facts_of(counted: Figures) -> Sequence[Fact]:
    """Return the participation figures."""
    completed = counted.completion_count
    total = counted.conversation_count
    completed_text = f"{completed:,}"
    if total and completed <= total:
        completed_text = f"{completed_text} ({share(completed / total * 100)})"
    return (
        Fact("Responses", f"{total:,}"),
        Fact("Completed", completed_text),
        Fact("Answered questions", f"{counted.response_count:,}"),
    )


def funnel_of(counted: Figures) -> Funnel | None:
    """Return how many people remained after each question; None if nobody left."""
    blocks = [block for block in counted.blocks if not block["is_archived"]]
    drop_offs = [block["drop_off"]["left"] for block in blocks]
    begun = counted.completion_count + sum(drop_offs)
    if not sum(drop_offs):
        return None
    remaining, bars, rows = begun, [], []
    for block, left in zip(blocks, drop_offs, strict=True):
        remaining -= left
        percentage = remaining / begun * 100
        note = _left_here(left)
        prompt = " ".join(block["prompt"].split())
        bars.append(ChartBar(prompt, remaining, share(percentage), f"{percentage:.2f}", note=note))
        rows.append((prompt, f"{left:,}", share(left / begun * 100), f"{remaining:,}", share(percentage)))
    head = ("Question", "Left here", "Share", "Continued", "Share")
    return Funnel(bars, DataTable(head, rows))


def cards_of(
    project: Project,
    counted: Figures,
    done: Analysis | None,
    *,
    divided_by: int | None,
    with_quotes: bool,
) -> list[StaffCard]:
    """Return the questions of the script, then removed ones. The `divided_by` question is not compared."""
    blocks = scripts.catalogue(project_id=project.pk, revision=project.revision).blocks
    texts = {block["block_id"]: block.get("open_text") for block in (done.blocks if done else ())}
    legend = legend_of(counted.segments or ())
    questions = [entry for entry in counted.blocks if entry["block_type"] != "content_block"]
    cards = []
    for number, entry in enumerate(questions, start=1):
        block = blocks.get(entry["block_id"])
        card, comparison = draw_card(entry, block, number=number), None
        if legend and not card.notice and card.id != divided_by:
            comparison = compare(entry, block, legend)
        is_read = entry["block_type"] == "open_text" and block is not None and block.section != "intro"
        staff_card = _staff_card(card, is_read, entry["drop_off"]["left"], texts.get(card.id), comparison)
        cards.append(staff_card if with_quotes else _without_quotes(staff_card))
    return cards


def _staff_card(
    card: Card, is_read: bool, left: int, open_text: Any, comparison: SegmentComparison | None
) -> StaffCard:
    if not open_text or card.notice:
        return StaffCard(card, is_read, _left_here(left), None, comparison)
    card = replace(card, parts=sentiment_parts(open_text["sentiment"]))
    return StaffCard(card, is_read, _left_here(left), text_analysis(open_text), comparison)


def _left_here(count: int) -> str:
    return f"{count:,} left here" if count else ""


def _without_quotes(staff_card: StaffCard) -> StaffCard:
    analysed = staff_card.text_analysis
    if analysed is None:
        return staff_card
    themes = [replace(theme, quotes=()) for theme in analysed.themes]
    return replace(staff_card, text_analysis=replace(analysed, themes=themes))


def analysis_status(project: Project, *, covers: str) -> AnalysisStatus:
    """Return the state of the analysis of all, completed or partial responses (`covers`)."""
    newest = done = analysis.latest(project=project, covers=covers, with_ai=True)
    if newest is not None and newest.status != COMPLETED:
        done = analysis.latest(project=project, covers=covers, with_ai=True, status=COMPLETED)
    is_running = newest is not None and not newest.is_finished
    changes = figures.changes(project.pk)
    is_current = done is not None and analysis.is_current(done, project=project, changes=changes)
    can_be_asked = not (is_running or is_current)
    return AnalysisStatus(
        done=done,
        running=newest if is_running else None,
        failed=newest if newest is not None and newest.status == FAILED else None,
        has_changed=done is not None and analysis.has_changed(done, project=project, changes=changes),
        can_be_asked=can_be_asked,
        price=_price(project, covers) if can_be_asked else "",
    )


def _price(project: Project, covers: str) -> str:
    """Return the cost of a new analysis as text, by the same rule that charges it; empty if free."""
    cost = analysis.price(project=project, covers=covers)
    return plural(cost, "credit") if cost else ""
