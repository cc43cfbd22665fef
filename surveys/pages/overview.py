"""What stands above and between a project's questions for staff: participation, drop-off, the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from surveys.models import Analysis, Project
from surveys.pages.charts import Bar, Card, Fact, Table, card, share
from surveys.pages.segments import Segments, legend_of, segments_of
from surveys.pages.texts import Reading, counted, reading, sentiment_parts
from surveys.services import analysis, figures, scripts
from surveys.services.figures import Figures


@dataclass(frozen=True, slots=True)
class StaffCard:
    """A question's card with what only staff see."""

    card: Card
    left: str
    reading: Reading | None
    segments: Segments | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """Who was still there after each question."""

    bars: Sequence[Bar]
    table: Table


@dataclass(frozen=True, slots=True)
class Outlook:
    """How the analysis of texts stands: the last that was finished, and the one that goes on or failed."""

    done: Analysis | None
    running: Analysis | None
    failed: Analysis | None
    is_out_of_date: bool
    price: str

    @property
    def can_be_asked(self) -> bool:
        return self.running is None and (self.done is None or self.is_out_of_date or self.failed is not None)


def facts_of(counted_now: Figures) -> Sequence[Fact]:
    completed = counted_now.completion_count
    whole = counted_now.conversation_count
    done = f"{completed:,}"
    if whole and completed <= whole:
        done = f"{done} ({share(completed / whole * 100)})"
    return (
        Fact("Responses", f"{whole:,}"),
        Fact("Completed", done),
        Fact("Answered questions", f"{counted_now.response_count:,}"),
    )


def funnel_of(counted_now: Figures) -> Funnel | None:
    """None where nobody left: then there is nothing to see that the numbers do not tell."""
    blocks = [block for block in counted_now.blocks if not block["is_archived"]]
    left = [block["drop_off"]["left"] for block in blocks]
    begun = counted_now.completion_count + sum(left)
    if not sum(left):
        return None
    remaining, bars, rows = begun, [], []
    for block, gone in zip(blocks, left, strict=True):
        remaining -= gone
        percentage = remaining / begun * 100
        note = f"{gone:,} left here" if gone else ""
        prompt = " ".join(block["prompt"].split())
        bars.append(Bar(prompt, remaining, share(percentage), f"{percentage:.2f}", note=note))
        rows.append((prompt, f"{gone:,}", share(gone / begun * 100), f"{remaining:,}", share(percentage)))
    head = ("Question", "Left here", "Share", "Went on", "Share")
    return Funnel(bars, Table(head, rows))


def cards_of(
    project: Project, counted_now: Figures, analysis: Analysis | None, *, divided_by: int | None
) -> list[StaffCard]:
    """The questions of the script, then those that were removed since. What divides is not divided itself."""
    blocks = scripts.catalogue(project_id=project.pk, revision=project.revision).blocks
    texts = {block["block_id"]: block.get("open_text") for block in (analysis.blocks if analysis else ())}
    legend = legend_of(counted_now.segments or ())
    questions = [entry for entry in counted_now.blocks if entry["block_type"] != "content_block"]
    cards = []
    for number, entry in enumerate(questions, start=1):
        block = blocks.get(entry["block_id"])
        drawn, segments = card(entry, block, number=number), None
        if legend and not drawn.notice and drawn.id != divided_by:
            segments = segments_of(entry, block, legend)
        cards.append(_staff_card(drawn, entry["drop_off"]["left"], texts.get(drawn.id), segments))
    return cards


def _staff_card(drawn: Card, left: int, open_text: Any, segments: Segments | None) -> StaffCard:
    told = f"{left:,} left here" if left else ""
    if not open_text or drawn.notice:
        return StaffCard(drawn, told, None, segments)
    drawn = replace(drawn, parts=sentiment_parts(open_text["sentiment"]))
    return StaffCard(drawn, told, reading(open_text), segments)


def outlook_of(project: Project, *, covers: str) -> Outlook:
    alike = Analysis.objects.filter(project=project, with_ai=True, covers=covers).defer("checkpoint")
    newest = alike.defer("checkpoint", "blocks_as_json").order_by("-pk").first()
    done = newest
    if newest is None or newest.status != Analysis.Status.COMPLETED:
        done = alike.filter(status=Analysis.Status.COMPLETED).order_by("-pk").first()
    is_running = newest is not None and not newest.is_finished
    now = (project.revision, figures.changes(project.pk))
    return Outlook(
        done=done,
        running=newest if is_running else None,
        failed=newest if newest is not None and newest.status == Analysis.Status.FAILED else None,
        is_out_of_date=done is not None and (done.revision, done.changes) != now,
        price="" if is_running else _price(project, covers),
    )


def _price(project: Project, covers: str) -> str:
    """What another analysis takes, in words, as it is reckoned when it is asked for; blank where free."""
    cost = analysis.price(project=project, covers=covers)
    return counted(cost, "credit") if cost else ""
