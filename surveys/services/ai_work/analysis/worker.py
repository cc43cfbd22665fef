"""The work of an analysis in a worker: figures from the database, texts from an AI provider.

    run(analysis_id=…)           from its last checkpoint to its end
    fail(job, failure, at)       the end of one that failed, or whose workers died too often

No lock and no transaction is held while the provider works. Progress is saved as a checkpoint before each
call, so that another worker can take over. One short transaction ends the analysis, with its event and its
credits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Self

from django.conf import settings
from django.utils import timezone

from communities import services as communities
from communities.ground import wire
from communities.ground.queue import wake
from communities.ground.transactions import in_transaction
from surveys import ai
from surveys.ai.local.summaries.analysis import summarize_analysis
from surveys.ai.provider import LOCAL, AnalysisOverview, Provider, ProviderError, TextBatch, TextFigures
from surveys.engine.flow.wording import heading
from surveys.engine.script import Script
from surveys.models import Analysis, Job, Project
from surveys.models.analysis import TEXTS_PER_CREDIT_UNIT
from surveys.services import events
from surveys.services.ai_work import paying
from surveys.services.ai_work.analysis import texts as open_texts
from surveys.services.ai_work.analysis.texts import MAX_SUMMARY, QuestionThemes, ThemeTitle, clean_text
from surveys.services.counting.derived import derives_anything
from surveys.services.ground import anonymity, jobs
from surveys.services.ground.jobs import Clock
from surveys.services.results import figures
from surveys.services.results.figures import Figures, Selection
from surveys.services.scripts import cache as script_cache

RUN = "surveys.run_analysis"
TURN = timedelta(minutes=2)
MAX_TEXTS_PER_BATCH = 5_000
MAX_CHARACTERS_PER_BATCH = 200_000  # a provider must finish a batch well within a lease
ANALYSIS_FAILED = "The analysis could not be made. No credits were charged; please request it again."
# Progress once everything is counted, and once all texts are read.
COUNTED, READ = 0.05, 0.9


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The outcome of an analysis. `memory` is for the next one: themes by question, and who named them."""

    counted: Figures
    summary: str | None = None
    generated_by: str | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)


def run(*, analysis_id: int, now: Clock = timezone.now) -> None:
    """Perform an analysis that waits, or that a dead worker left. A second worker changes nothing."""
    jobs.carry_out(
        Analysis,
        analysis_id,
        work=lambda job: _complete(job, _analyse(job, now), at=now()),
        fail=fail,
        foreseen=ProviderError,
        now=now,
    )


# --- The work -------------------------------------------------------------------------------------


def _analyse(job: Analysis, now: Clock) -> AnalysisResult:
    project = Project.objects.filter(pk=job.project_id).first()
    if project is None:
        raise jobs.TakenOver
    if job.checkpoint is None:
        _note_starting_point(job, project, now)
    changes = figures.changes(project.pk)
    counted = figures.count(project=project, selection=Selection(covers=job.covers), max_wait=None)
    if not job.with_ai:
        return AnalysisResult(counted)
    earlier = lacking_scores_alone(project=project, covers=job.covers, changes=changes)
    if earlier is not None:
        return _with_texts_of(earlier, counted)
    return _TextAnalysis.of(job, project, counted, now).read()


def lacking_scores_alone(*, project: Project, covers: str, changes: int) -> Analysis | None:
    """The finished analysis of the texts as they are, if all that it lacks are scores.

    It was made by a version that did not count them. A new one takes over what was read.
    """
    done = Analysis.objects.filter(
        project=project, with_ai=True, covers=covers, status=Job.Status.COMPLETED
    ).order_by("-pk")
    newest = done.first()
    if newest is None or (newest.revision, newest.changes) != (project.revision, changes):
        return None
    return newest if lacks_scores(newest, project=project) and not is_outdone(newest) else None


def lacks_scores(done: Analysis, *, project: Project) -> bool:
    """Whether an analysis of the current script was made by a version that did not count scores."""
    if done.variables_as_json is not None:
        return False
    return derives_anything(script_cache.get(project.pk, project.revision).stored.script)


def is_outdone(done: Analysis) -> bool:
    """Whether a provider connected since then reads texts better than the local statistics did."""
    return done.generated_by == LOCAL and not ai.provider_is_free()


def _with_texts_of(earlier: Analysis, counted: Figures) -> AnalysisResult:
    texts = {block["block_id"]: block.get("open_text") for block in earlier.blocks}
    for block in counted.blocks:
        block["open_text"] = texts.get(block["block_id"])
    return AnalysisResult(counted, earlier.summary, earlier.generated_by, earlier.checkpoint or {})


def _note_starting_point(job: Analysis, project: Project, now: Clock) -> None:
    """Store the state of the answers before counting, so that later answers make the analysis out of date.

    A worker that takes over keeps the first state, because some texts were read then. If more texts have come
    than were paid, the state is that of the payment: the analysis is out of date from the beginning.
    """
    totals = figures.totals(project.pk)
    if job.with_ai and open_texts.count(project_id=project.pk, covers=job.covers) > paid_texts(job):
        totals["changes"] = job.changes
    jobs.renew(job, at=now(), revision=project.revision, checkpoint={}, **totals)


def paid_texts(job: Analysis) -> float:
    """How many texts an analysis may read: what its credits pay for, and all where texts cost nothing."""
    price = settings.CREDITS_FOR_100_TEXTS
    if ai.provider_is_free() or not price:
        return math.inf
    return job.credits_used // price * TEXTS_PER_CREDIT_UNIT


@dataclass(slots=True)
class _TextAnalysis:
    """The part of an analysis that reads open texts and writes summaries."""

    job: Analysis
    project: Project
    script: Script
    counted: Figures
    questions: list[dict[str, Any]]  # the counted blocks whose texts are read
    locale: str | None
    now: Clock
    turn_ends_at: datetime
    themes: dict[str, QuestionThemes]  # by block id
    memory: Mapping[str, Any]  # from an earlier analysis: themes by block id, and the provider
    paid: float  # how many texts may be read
    has_progressed: bool = False  # since the last checkpoint

    @classmethod
    def of(cls, job: Analysis, project: Project, counted: Figures, now: Clock) -> Self:
        done = Analysis.objects.filter(project=project, with_ai=True, status=Job.Status.COMPLETED)
        memory = done.order_by("-pk").values_list("checkpoint", flat=True).first()
        stored = (job.checkpoint or {}).get("found", {})
        question_ids = open_texts.question_ids(project_id=project.pk)
        return cls(
            job=job,
            project=project,
            script=script_cache.get(project.pk, project.revision).stored.script,
            counted=counted,
            questions=[block for block in counted.blocks if block["block_id"] in question_ids],
            locale=communities.get_settings(community_id=project.community_id).locale,
            now=now,
            turn_ends_at=now() + TURN,
            themes={block_id: QuestionThemes.from_checkpoint(each) for block_id, each in stored.items()},
            memory=memory or {},
            paid=paid_texts(job),
        )

    def read(self) -> AnalysisResult:
        questions = self.questions
        if not self.paid or not any(block["response_count"] for block in questions):
            return self._without_model(questions)
        self._save(COUNTED)
        provider = ai.get_provider()
        self._start_from_earlier_themes(questions, provider)
        for block in questions:
            self._read_question(block, provider)
        for block in questions:
            self._summarize_texts(block, provider)
        self._release_before_call(READ)
        summary = clean_text(provider.summarize_analysis(self._overview()), MAX_SUMMARY)
        for block in questions:
            block["open_text"] = self._open_text(block)
        return AnalysisResult(self.counted, summary or None, provider.name, self._memory(provider.name))

    def _without_model(self, questions: Sequence[dict[str, Any]]) -> AnalysisResult:
        """The result if nobody has written anything: a summary of the figures, without a model."""
        for block in questions:
            block["open_text"] = QuestionThemes().report(least=anonymity.least_answers(self.project))
        return AnalysisResult(self.counted, summarize_analysis(self._overview()), LOCAL, self.memory)

    def _start_from_earlier_themes(self, questions: Sequence[Mapping[str, Any]], provider: Provider) -> None:
        """Only themes of the same provider, because another provider names them differently."""
        known = self.memory.get("known", {}) if self.memory.get("by") == provider.name else {}
        for block in questions:
            block_id = str(block["block_id"])
            if block_id not in self.themes:
                titles = [(title, description) for title, description in known.get(block_id, ())]
                self.themes[block_id] = QuestionThemes.with_known(titles)

    def _read_question(self, block: Mapping[str, Any], provider: Provider) -> None:
        tracked = self.themes[str(block["block_id"])]
        length = max(1, min(provider.max_batch_size, MAX_TEXTS_PER_BATCH))
        while not tracked.is_read:
            # If the price was raised meanwhile, the difference is negative.
            wanted = int(max(0, min(length, self.paid - self._read_so_far())))
            answers = open_texts.batch(
                project_id=self.project.pk,
                block_id=block["block_id"],
                covers=self.job.covers,
                after=tracked.last,
                length=wanted,
            )
            is_last = len(answers) < length
            if answers:
                texts = _leading_texts([text for _, text in answers], MAX_CHARACTERS_PER_BATCH)
                is_last = is_last and len(texts) == len(answers)
                batch = TextBatch(self._heading(block), texts, tracked.known, tracked.room, self.locale)
                self._release_before_call(self._progress())
                tracked.add(texts, provider.read_texts(batch))
                tracked.last = str(answers[len(texts) - 1][0])
                self.has_progressed = True
            tracked.is_read = is_last
            if not is_last and self.now() >= self.turn_ends_at:
                self._hand_on()

    def _hand_on(self) -> None:
        """Free this thread for waiting jobs: hundreds of thousands of texts take hours."""
        self._save(self._progress())
        jobs.pause(self.job, at=self.now())
        wake(RUN, analysis_id=self.job.pk)
        raise jobs.TakenOver

    def _summarize_texts(self, block: Mapping[str, Any], provider: Provider) -> None:
        tracked = self.themes[str(block["block_id"])]
        if tracked.summary is not None or not tracked.analysed_count:
            return
        counted = TextFigures(
            prompt=self._heading(block),
            answer_count=tracked.answer_count,
            themes=[theme for _, theme in tracked.ranked()],
            sentiment=tracked.moods,
            locale=self.locale,
            unjudged_count=tracked.unjudged,
        )
        self._release_before_call(READ)
        tracked.summary = clean_text(provider.summarize_texts(counted), MAX_SUMMARY)

    def _read_so_far(self) -> int:
        return sum(tracked.answer_count for tracked in self.themes.values())

    def _progress(self) -> float:
        wanted: int = sum(block["response_count"] for block in self.questions)
        return COUNTED + (READ - COUNTED) * min(1.0, self._read_so_far() / wanted)

    def _release_before_call(self, progress: float) -> None:
        """Before a call to the provider: save a checkpoint with a new lease, and release the connection."""
        self._save(progress)
        jobs.close_connection()

    def _save(self, progress: float) -> None:
        self.job.progress = max(self.job.progress, round(progress, 3))
        checkpoint = {
            "found": {block_id: tracked.to_checkpoint() for block_id, tracked in self.themes.items()}
        }
        reset = {"deaths": 0} if self.has_progressed else {}
        self.has_progressed = False
        jobs.renew(self.job, at=self.now(), progress=self.job.progress, checkpoint=checkpoint, **reset)

    def _overview(self) -> AnalysisOverview:
        """Everything that was found, without quotes: a summary does not need people's own words."""
        blocks = [{**block, "prompt": self._heading(block)} for block in self.counted.blocks]
        blocks = [
            block if block["block_type"] != "open_text" else {**block, "open_text": self._counts(block)}
            for block in blocks
        ]
        return AnalysisOverview(
            name=self.project.name,
            completion_count=self.counted.completion_count,
            conversation_count=self.counted.conversation_count,
            blocks=blocks,
            locale=self.locale,
        )

    def _heading(self, block: Mapping[str, Any]) -> str:
        """The prompt for a model, whose summary must not quote tokens."""
        return heading(block["prompt"], self.script)

    def _counts(self, block: Mapping[str, Any]) -> dict[str, Any]:
        open_text = self._open_text(block)
        return {**open_text, "themes": [{**theme, "quotes": []} for theme in open_text["themes"]]}

    def _open_text(self, block: Mapping[str, Any]) -> dict[str, Any]:
        tracked = self.themes.get(str(block["block_id"])) or QuestionThemes()
        return tracked.report(least=anonymity.least_answers(self.project))

    def _memory(self, by: str) -> dict[str, Any]:
        """For the next analysis: themes that occur again keep their titles."""
        earlier = self.memory.get("known", {}) if self.memory.get("by") == by else {}
        known: dict[str, Sequence[ThemeTitle]] = dict(earlier)
        known |= {block_id: titles for block_id, each in self.themes.items() if (titles := each.titles())}
        return {"by": by, "known": known}


def _leading_texts(texts: Sequence[str], most: int) -> list[str]:
    """The first texts, as many as fit into `most` characters together; at least one."""
    ends = accumulate(map(len, texts))
    return [text for n, (text, end) in enumerate(zip(texts, ends, strict=True)) if n == 0 or end <= most]


# --- The end --------------------------------------------------------------------------------------


@in_transaction
def _complete(job: Analysis, result: AnalysisResult, *, at: datetime) -> None:
    """Raises TakenOver."""
    own, project = _locked(job)
    own.status, own.completed_at = Job.Status.COMPLETED, anonymity.rounded(project=project, at=at)
    own.blocks_as_json = _rendered(result.counted.blocks)
    own.scores_as_json = None if result.counted.scores is None else _rendered(result.counted.scores)
    own.variables_as_json = _rendered(result.counted.variables)
    own.summary, own.generated_by = result.summary, result.generated_by
    if result.generated_by == LOCAL:  # the texts were deleted before all could be read
        _return_credits(own, project, own.unread_credits)
    own.progress, own.checkpoint = 1.0, dict(result.memory)
    _end(own, project, at=at)
    finished = [Job.Status.COMPLETED, Job.Status.FAILED]
    if project.is_anonymous:  # the difference between two analyses would show what one person answered
        Analysis.objects.filter(project=project, status__in=finished).exclude(pk=own.pk).delete()
    else:  # earlier analyses of the same kind are replaced
        _earlier_alike(own).filter(status__in=finished).delete()


def _rendered(figures: Sequence[Mapping[str, Any]]) -> str:
    return wire.render(list(figures)).decode()


@in_transaction
def fail(job: Analysis, failure: Exception | None, at: datetime) -> None:
    """End the analysis as failed, and return its credits. Raises TakenOver."""
    own, project = _locked(job)
    paying.count_failed(community_id=project.community_id, hundreds=own.hundreds_read)
    _return_credits(own, project, own.credits_used)
    own.status, own.checkpoint = Job.Status.FAILED, None
    own.error = failure.message if isinstance(failure, ProviderError) else ANALYSIS_FAILED
    _end(own, project, at=at)
    _earlier_alike(own).filter(status=Job.Status.FAILED).delete()


def _locked(job: Analysis) -> tuple[Analysis, Project]:
    """Locks the project first, in the same order as deleting a project does. Raises TakenOver."""
    project = Project.objects.select_for_update(no_key=True).filter(pk=job.project_id).first()
    own = jobs.locked(job)
    if project is None:  # deleted; if it is restored, another worker continues
        raise jobs.TakenOver
    return own, project


def _return_credits(own: Analysis, project: Project, amount: int) -> None:
    communities.return_credits(community_id=project.community_id, amount=amount)
    own.credits_used -= amount


def _end(own: Analysis, project: Project, *, at: datetime) -> None:
    own.leased_until = None
    own.save()
    events.analysis_ended(own, project, at=at)


def _earlier_alike(own: Analysis) -> Any:
    """Earlier analyses of the same project that cover the same responses, and equally with or without AI."""
    return Analysis.objects.filter(
        project_id=own.project_id, with_ai=own.with_ai, covers=own.covers, pk__lt=own.pk
    )
