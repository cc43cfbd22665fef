"""Analyses: asked for, paid, read. Made they are in `analysis_run`.

    ask(project=…, with_ai=…, covers=…, at=…)   one that is to be made, is being made, or still holds
    latest(project=…)                           the newest, whatever has become of it
    is_current(done, project=…, changes=…)      whether a finished one still holds
    run(analysis_id=…)                          for the worker
    take_up(at=…)                               for the sweep

Who may read them is decided in `surveys.services.access`.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import QuerySet

from communities import services as communities
from communities.errors import NotFound
from communities.queue import wake
from communities.transactions import in_transaction
from surveys.ai import provider_is_free
from surveys.ai.provider import LOCAL
from surveys.models import Analysis, Project
from surveys.services import access, anonymity, jobs
from surveys.services.analysis import texts as open_texts
from surveys.services.analysis.worker import RUN, give_up, run
from surveys.services.representations.analysis import as_json, in_aggregate, rendered
from surveys.services.results import figures

__all__ = [
    "RUN",
    "TEXTS_FOR_A_PRICE",
    "as_json",
    "ask",
    "give_up",
    "has_changed",
    "in_aggregate",
    "is_current",
    "latest",
    "price",
    "rendered",
    "run",
    "take_up",
]

TEXTS_FOR_A_PRICE = 100


@in_transaction
def ask(*, project: Project, with_ai: bool, covers: str, at: datetime) -> tuple[Analysis, bool]:
    """The analysis that answers this, and whether it was begun just now.

    One that is going on is joined, a finished one given back while nothing has changed since; neither costs
    anything. Two at once make one: the project's row is locked, answers go on all the same. Refuses where
    there are too few credits.
    """
    locked = Project.objects.select_for_update(no_key=True).filter(pk=project.pk).first()
    if locked is None:
        raise NotFound(access.NO_PROJECT)
    seen = figures.kept(locked.pk)
    alike = Analysis.objects.filter(project=locked, with_ai=with_ai, covers=covers)
    if (known := _still_good(alike.defer("checkpoint").order_by("-pk"), locked, seen["changes"])) is not None:
        return known, False
    cost = price(project=locked, covers=covers) if with_ai else 0
    communities.spend_credits(community_id=locked.community_id, amount=cost)
    made = Analysis.objects.create(
        project=locked,
        with_ai=with_ai,
        covers=covers,
        revision=locked.revision,
        **seen,
        credits_used=cost,
        created_at=anonymity.rounded(project=locked, at=at),
    )
    wake(RUN, analysis_id=made.pk)
    return made, True


def take_up(*, at: datetime) -> None:
    """Wake workers for what waits or was left by one that died; end what was attempted too often."""
    for analysis_id in jobs.abandoned(Analysis, at=at):
        give_up(analysis_id=analysis_id, at=at)
    for analysis_id in jobs.waiting(Analysis, at=at):
        wake(RUN, analysis_id=analysis_id)


def latest(
    *, project: Project, covers: str | None = None, with_ai: bool | None = None, status: str | None = None
) -> Analysis | None:
    """The newest analysis, whatever its status where none is named, that covers this and was asked for so."""
    found = Analysis.objects.filter(project=project).defer("checkpoint")
    if status is not None:
        found = found.filter(status=status)
    if covers is not None:
        found = found.filter(covers=covers)
    if with_ai is not None:
        found = found.filter(with_ai=with_ai)
    return found.order_by("-pk").first()


def _still_good(alike: QuerySet[Analysis], project: Project, changes: int) -> Analysis | None:
    """One that is going on, or was finished and could only be made the same again."""
    running = alike.filter(Analysis.UNFINISHED).first()
    if running is not None:
        return running
    done = alike.filter(status=Analysis.Status.COMPLETED).first()
    return done if done is not None and is_current(done, project=project, changes=changes) else None


def is_current(done: Analysis, *, project: Project, changes: int) -> bool:
    """Whether a finished analysis is the answer to being asked anew: nothing has changed, nor is it outdone.

    `changes` are those of the project now (`figures.changes`).
    """
    if has_changed(done, project=project, changes=changes):
        return False
    # A provider that has been connected since reads better than the texts' statistics.
    is_outdone = done.generated_by == LOCAL and not provider_is_free()
    return not (is_outdone and open_texts.count(project_id=project.pk, covers=done.covers))


def has_changed(done: Analysis, *, project: Project, changes: int) -> bool:
    """Whether the script or what is counted is another than the analysis saw."""
    return (done.revision, done.changes) != (project.revision, changes)


def price(*, project: Project, covers: str) -> int:
    """Credits that an analysis with AI takes now; nothing where no model reads the texts."""
    if provider_is_free():
        return 0
    texts = open_texts.count(project_id=project.pk, covers=covers)
    return settings.CREDITS_FOR_100_TEXTS * -(-texts // TEXTS_FOR_A_PRICE)
