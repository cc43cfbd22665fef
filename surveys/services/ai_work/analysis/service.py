"""Analyses: requested, paid and read. `worker` performs them.

    ask(actor=…, project=…, …)                  a new analysis, the running one, or one that is still current
    latest(project=…)                           the newest one, whatever its status
    is_current(done, project=…, changes=…)      whether a finished one is still up to date
    run(analysis_id=…)                          for the worker
    take_up(at=…)                               for the periodic sweep

`surveys.services.ground.access` decides who may read analyses.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.db.models import QuerySet

from communities.ground.actors import Actor
from communities.ground.errors import Conflict, NotFound
from communities.ground.queue import wake
from communities.ground.transactions import in_transaction
from surveys.ai import provider_is_free
from surveys.models import Analysis, Project
from surveys.models.analysis import TEXTS_PER_CREDIT_UNIT
from surveys.services.ai_work import paying, readings
from surveys.services.ai_work.analysis.bulk_readings import cancel_bulk
from surveys.services.ai_work.analysis.text_analysis import RUN
from surveys.services.ai_work.analysis.worker import (
    fail,
    is_outdone,
    run,
)
from surveys.services.ground import access, anonymity, history, jobs
from surveys.services.ground.anonymity import LEAST_ANSWERS
from surveys.services.representations import analysis as analysis_json
from surveys.services.representations.analysis import (
    AnalysisJson,
    as_json,
    rendered,
    without_solutions,
    without_texts,
)
from surveys.services.results import cache as shown_figures
from surveys.services.results import figures, steps
from surveys.services.scripts import cache as script_cache

__all__ = [
    "RUN",
    "TEXTS_PER_CREDIT_UNIT",
    "CostsMore",
    "as_json",
    "ask",
    "cancel_bulk",
    "count_texts",
    "has_changed",
    "in_aggregate",
    "is_current",
    "latest",
    "price",
    "rendered",
    "run",
    "take_up",
    "without_solutions",
    "without_texts",
]


class CostsMore(Conflict):
    """An analysis costs more credits than the caller has agreed to."""


@in_transaction
def ask(
    *,
    actor: Actor,
    project: Project,
    with_ai: bool,
    covers: str,
    at: datetime,
    at_most: int | None = None,
) -> tuple[Analysis, bool]:
    """Return the analysis for this request, and whether the analysis is new.

    A running analysis is joined, and a finished analysis is returned if nothing has changed since it ended.
    Both are free. Two requests at the same time start one analysis, because `ask` locks the project's row;
    answers do not wait for that lock. If a model has anything to read, `paying.pay` may refuse. Raises
    CostsMore if the analysis costs more credits than `at_most`.
    """
    locked = Project.objects.select_for_update(no_key=True).filter(pk=project.pk).first()
    if locked is None:
        raise NotFound(access.NO_PROJECT)
    totals = figures.totals(locked.pk)
    alike = Analysis.objects.filter(project=locked, with_ai=with_ai, covers=covers)
    if (known := _reusable(alike.defer("checkpoint").order_by("-pk"), locked, totals["changes"])) is not None:
        return known, False
    cost = price(project=locked, covers=covers) if with_ai else 0
    if at_most is not None and cost > at_most:
        raise CostsMore(f"This analysis costs {cost:,} credits now, and not {at_most:,}.")
    analysis = Analysis(
        project=locked,
        with_ai=with_ai,
        covers=covers,
        revision=locked.revision,
        **totals,
        credits_used=cost,
        created_at=anonymity.rounded(project=locked, at=at),
    )
    if with_ai and readings.has_any(project_id=locked.pk):
        paying.pay(community_id=locked.community_id, credits=cost)
    analysis.save(force_insert=True)
    history.record_analysis(locked, actor=actor, covers=covers, credits=cost, at=at)
    wake(RUN, analysis_id=analysis.pk)
    return analysis, True


def take_up(*, at: datetime) -> None:
    """Wake workers for waiting analyses and for analyses that a dead worker left. End analyses that were
    attempted too often.
    """
    jobs.give_up(Analysis, fail=fail, at=at)
    for analysis_id in jobs.waiting(Analysis, at=at):
        wake(RUN, analysis_id=analysis_id)


def latest(
    *, project: Project, covers: str | None = None, with_ai: bool | None = None, status: str | None = None
) -> Analysis | None:
    """The newest analysis that matches these arguments; None matches any value."""
    analyses = Analysis.objects.filter(project=project).defer("checkpoint")
    if status is not None:
        analyses = analyses.filter(status=status)
    if covers is not None:
        analyses = analyses.filter(covers=covers)
    if with_ai is not None:
        analyses = analyses.filter(with_ai=with_ai)
    return analyses.order_by("-pk").first()


def _reusable(alike: QuerySet[Analysis], project: Project, changes: int) -> Analysis | None:
    """A running analysis, or a finished one that a new analysis would only repeat."""
    running = alike.filter(Analysis.UNFINISHED).first()
    if running is not None:
        return running
    done = alike.filter(status=Analysis.Status.COMPLETED).first()
    return done if done is not None and is_current(done, project=project, changes=changes) else None


def in_aggregate(newest: AnalysisJson, *, project: Project, at: datetime) -> AnalysisJson:
    """Return an analysis for a reader who may not read single responses, without anybody's own words.

    On an anonymous project the figures come from the shared page, because an analysis may count one answer
    more. The figures of the shared page and the counts of themes change in steps. Figures over few answers
    are null.
    """
    if project.is_anonymous:
        newest = {**newest, **_in_steps(newest, project, at)}
    conditional_ids = script_cache.of(project).stored.conditional_ids
    least = anonymity.least_answers(project)
    return analysis_json.in_aggregate(newest, least=least, conditional_ids=conditional_ids)


def _in_steps(newest: AnalysisJson, project: Project, at: datetime) -> AnalysisJson:
    shown = shown_figures.counted(project=project, at=at).figures
    blocks: list[Mapping[str, Any]] = []
    if newest["status"] == Analysis.Status.COMPLETED:
        analysed = orjson.loads(orjson.dumps(newest["blocks"]))
        texts = steps.texts(project=project, analysis_id=int(newest["id"]), blocks=analysed)
        ids = {block["block_id"] for block in analysed}
        blocks = [
            {**block, "drop_off": None, "open_text": texts.get(block["block_id"])}
            for block in shown.blocks
            if block["block_id"] in ids
        ]
    enough = [block for block in blocks if anonymity.is_enough(block["response_count"], least=LEAST_ANSWERS)]
    return {
        "completion_count": shown.completion_count,
        "response_count": sum(block["response_count"] for block in enough),
        "blocks": blocks,
        "scores": None,
        "variables": [],
    }


def is_current(done: Analysis, *, project: Project, changes: int) -> bool:
    """Whether a new analysis would only repeat a finished one.

    `changes` is the project's current `figures.changes`.
    """
    if has_changed(done, project=project, changes=changes):
        return False
    return not (is_outdone(done) and readings.count_unread(project_id=project.pk, covers=done.covers))


def has_changed(done: Analysis, *, project: Project, changes: int) -> bool:
    """Whether the script or the answers have changed since the analysis."""
    return (done.revision, done.changes) != (project.revision, changes)


def price(*, project: Project, covers: str) -> int:
    """Return the credits that an analysis with AI costs now, for unread texts; 0 if the provider is free."""
    if provider_is_free():
        return 0
    texts = readings.count_unread(project_id=project.pk, covers=covers)
    return settings.CREDITS_FOR_100_TEXTS * -(-texts // TEXTS_PER_CREDIT_UNIT)


def count_texts(*, project: Project, covers: str) -> int:
    """How many answers to open questions an analysis would read."""
    return readings.count_unread(project_id=project.pk, covers=covers)
