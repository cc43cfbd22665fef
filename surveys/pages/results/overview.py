"""What stands above and between a project's questions for staff: participation, drop-off, the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from communities.words import plural
from surveys.models import Analysis, Project
from surveys.pages.results.charts import Bar, Card, Fact, Table, card
from surveys.pages.results.segments import Segments, legend_of, segments_of
from surveys.pages.results.texts import Reading, reading, sentiment_parts
from surveys.pages.words import share
from surveys.services.analysis import service as analysis
from surveys.services.results import figures
from surveys.services.results.figures import Figures
from surveys.services.scripts import editing as scripts

COMPLETED, FAILED = Analysis.Status.COMPLETED, Analysis.Status.FAILED


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
    """How the analysis of texts stands: the last that was finished, and the one that goes on or failed.

    `has_changed` is what it covers; `can_be_asked` is true where a new one would be made.
    """

    done: Analysis | None
    running: Analysis | None
    failed: Analysis | None
    has_changed: bool
    can_be_asked: bool
    price: str


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
    project: Project,
    counted_now: Figures,
    done: Analysis | None,
    *,
    divided_by: int | None,
    with_quotes: bool,
) -> list[StaffCard]:
    """The questions of the script, then those that were removed since. What divides is not divided itself."""
    blocks = scripts.catalogue(project_id=project.pk, revision=project.revision).blocks
    texts = {block["block_id"]: block.get("open_text") for block in (done.blocks if done else ())}
    legend = legend_of(counted_now.segments or ())
    questions = [entry for entry in counted_now.blocks if entry["block_type"] != "content_block"]
    cards = []
    for number, entry in enumerate(questions, start=1):
        block = blocks.get(entry["block_id"])
        drawn, segments = card(entry, block, number=number), None
        if legend and not drawn.notice and drawn.id != divided_by:
            segments = segments_of(entry, block, legend)
        made = _staff_card(drawn, entry["drop_off"]["left"], texts.get(drawn.id), segments)
        cards.append(made if with_quotes else _without_quotes(made))
    return cards


def _staff_card(drawn: Card, left: int, open_text: Any, segments: Segments | None) -> StaffCard:
    told = f"{left:,} left here" if left else ""
    if not open_text or drawn.notice:
        return StaffCard(drawn, told, None, segments)
    drawn = replace(drawn, parts=sentiment_parts(open_text["sentiment"]))
    return StaffCard(drawn, told, reading(open_text), segments)


def _without_quotes(made: StaffCard) -> StaffCard:
    if made.reading is None:
        return made
    themes = [replace(theme, quotes=()) for theme in made.reading.themes]
    return replace(made, reading=replace(made.reading, themes=themes))


def outlook_of(project: Project, *, covers: str) -> Outlook:
    newest = done = analysis.latest(project=project, covers=covers, with_ai=True)
    if newest is not None and newest.status != COMPLETED:
        done = analysis.latest(project=project, covers=covers, with_ai=True, status=COMPLETED)
    is_running = newest is not None and not newest.is_finished
    changes = figures.changes(project.pk)
    is_current = done is not None and analysis.is_current(done, project=project, changes=changes)
    can_be_asked = not (is_running or is_current)
    return Outlook(
        done=done,
        running=newest if is_running else None,
        failed=newest if newest is not None and newest.status == FAILED else None,
        has_changed=done is not None and analysis.has_changed(done, project=project, changes=changes),
        can_be_asked=can_be_asked,
        price=_price(project, covers) if can_be_asked else "",
    )


def _price(project: Project, covers: str) -> str:
    """What another analysis takes, in words, as it is reckoned when it is asked for; blank where free."""
    cost = analysis.price(project=project, covers=covers)
    return plural(cost, "credit") if cost else ""
