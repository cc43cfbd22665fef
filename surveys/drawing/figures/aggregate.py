"""Shared results for members of the community who may not read single responses, as the interface returns
them.

Figures are over all responses. On anonymous projects they are the figures of the shared page: few answers are
withheld, and the figures change in steps. Analyses contain no quotes and no words about themes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from communities.ground.actors import Actor
from surveys.drawing.figures import charts, overview, texts
from surveys.drawing.figures.charts import Card, Fact
from surveys.drawing.figures.overview import StaffCard
from surveys.drawing.figures.scores import ScoreCard, score_cards, variable_cards
from surveys.drawing.figures.solutions import with_solution
from surveys.drawing.figures.texts import TEXTS_HIDDEN, text_analysis
from surveys.models import Analysis, Project, ResultsCount
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ground import access
from surveys.services.results import figures, readers
from surveys.services.results.shared import SharedResults
from surveys.services.scripts import cache as script_cache


@dataclass(frozen=True, slots=True)
class SharedView:
    """The shared results to show.

    `least` is the number of answers that a figure needs; None if there is no such limit.
    """

    facts: Sequence[Fact]
    cards: Sequence[StaffCard]
    summary: str
    least: int | None
    counted_at: datetime
    is_empty: bool
    scores: Sequence[ScoreCard] = ()
    variables: Sequence[ScoreCard] = ()
    job: ResultsCount | None = None


def read(project: Project, *, actor: Actor, at: datetime) -> SharedView:
    """Read the shared results for an actor who may not read single responses.

    While a worker counts the results, `job` is its job, and these results are left out. Raises Unavailable
    while the process counts many responses of other projects.
    """
    newest = analysis.rendered(project_id=project.pk, covers=Analysis.Covers.ALL, with_ai=None)
    if newest is not None and newest["status"] == Analysis.Status.COMPLETED:
        newest = analysis.in_aggregate(newest, project=project, at=at)
    else:
        newest = None
    texts = _texts(newest)
    summary = (newest or {}).get("summary") or ""
    marks_solutions = access.may_read_solutions(actor=actor, project=project)
    seen = readers.read(actor=actor, project=project, at=at)
    if isinstance(seen, SharedResults):
        return _in_steps(project, seen, texts, summary, marks_solutions=marks_solutions)
    job = seen if isinstance(seen, ResultsCount) else None
    totals = (
        readers.in_totals(figures.count(project=project, derives=False), project)
        if isinstance(seen, ResultsCount)
        else seen
    )
    cards = overview.cards_of(project, totals, texts, marks_solutions=marks_solutions)
    facts = overview.facts_of(totals, is_poll=project.is_poll)
    shown = [_without_texts(each) for each in cards if not each.card.is_removed]
    return SharedView(
        facts,
        shown,
        summary,
        None,
        at,
        not totals.conversation_count,
        score_cards(totals, is_filtered=False),
        variable_cards(totals, is_filtered=False),
        job,
    )


def _without_texts(question: StaffCard) -> StaffCard:
    """The card of a text question without an analysis, which says that its texts are not shown."""
    card = question.card
    if not question.is_text or question.text_analysis or card.notice:
        return question
    return replace(question, card=replace(card, note=TEXTS_HIDDEN))


def _in_steps(
    project: Project,
    shared: SharedResults,
    texts: Mapping[int, Any],
    summary: str,
    *,
    marks_solutions: bool,
) -> SharedView:
    drawn = cards_of(project, shared)
    if marks_solutions:
        blocks = script_cache.of(project).catalogue.blocks
        entries = {entry["block_id"]: entry for entry in shared.blocks}
        drawn = [
            with_solution(card, entries[card.id], blocks[card.id]) if card.id in blocks else card
            for card in drawn
        ]
    cards = [
        StaffCard(
            card=replace(card, note="") if card.id in texts else card,
            is_text=False,
            is_read=False,
            drop_off="",
            text_analysis=text_analysis(texts[card.id]) if card.id in texts and not card.notice else None,
            comparison=None,
        )
        for card in drawn
    ]
    facts = [Fact("Votes" if project.is_poll else "Responses", f"{shared.conversation_count:,}")]
    if not project.is_poll:
        facts.append(Fact("Completed", f"{shared.completion_count:,}"))
    is_empty = not shared.conversation_count
    return SharedView(facts, cards, summary, shared.least_answers, shared.counted_at, is_empty)


def _texts(newest: Mapping[str, Any] | None) -> dict[int, Any]:
    """The analysed texts by block id, for questions that have texts."""
    if newest is None:
        return {}
    blocks = orjson.loads(orjson.dumps(newest["blocks"]))
    return {block["block_id"]: block["open_text"] for block in blocks if block.get("open_text")}


def cards_of(project: Project, shared: SharedResults, *, within: range | None = None) -> Sequence[Card]:
    """The cards of all questions, or of the questions in a range of indexes, with a notice for withheld
    figures.
    """
    catalogue = script_cache.of(project).catalogue
    places = range(len(shared.blocks)) if within is None else within
    cards = []
    for place, entry in ((each + 1, shared.blocks[each]) for each in places):
        number = 0 if project.is_poll else place
        block = catalogue.blocks.get(entry["block_id"])
        card = charts.draw_card(entry, block, script=catalogue.script, number=number)
        if entry["open_text"] and not card.notice:
            card = texts.sentiment_card(card, entry["open_text"])
        cards.append(card)
    return cards
