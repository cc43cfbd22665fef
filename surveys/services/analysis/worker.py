"""The work of an analysis, as a worker does it: figures from the database, words from a provider of AI.

    run(analysis_id=…)              from where it stands to its end
    give_up(analysis_id=…, at=…)    end one whose workers died too often

Nothing is held while a provider works. What has been read is kept in the row before each of its answers is
waited for, so a worker that takes over goes on there. However it ends, one short transaction ends it, with
its event and its credits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Self

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from communities import services as communities
from communities import wire
from communities.faults import log_fault
from communities.queue import wake
from communities.transactions import in_transaction
from surveys import ai
from surveys.ai.local.summaries.analysis import summarize_analysis
from surveys.ai.provider import LOCAL, AnalysisOverview, Provider, ProviderError, TextBatch, TextFigures
from surveys.models import Analysis, Job, Project
from surveys.services import anonymity, events, jobs
from surveys.services.analysis import texts as open_texts
from surveys.services.analysis.texts import LONGEST_SUMMARY, Findings, Title, words
from surveys.services.results import figures
from surveys.services.results.figures import Figures, Selection

RUN = "surveys.run_analysis"
TURN = timedelta(minutes=2)
MOST_TEXTS_AT_ONCE = 5_000
MOST_CHARACTERS_AT_ONCE = 200_000  # a provider has to be done with them well within a lease
ANALYSIS_FAILED = "The analysis could not be made. No credits were charged; please request it again."
# How far it is once everything is counted, and once all texts are read.
COUNTED, READ = 0.05, 0.9

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it. `memory` is for the analysis after it: themes by question, and who named them."""

    blocks: Sequence[Mapping[str, Any]]
    summary: str | None = None
    generated_by: str | None = None
    memory: Mapping[str, Any] = field(default_factory=dict)


def run(*, analysis_id: int, now: Clock = timezone.now) -> None:
    """Make an analysis that waits, or was left by a worker that died. Who comes second changes nothing."""
    job = jobs.take(Analysis, analysis_id, at=now())
    if job is None:
        return
    try:
        _complete(job, _made(job, now), at=now())
    except jobs.TakenOver:
        return
    except ProviderError as failure:
        _fail(job, failure.message, at=now())
    except (OperationalError, InterfaceError):  # the lease runs out, and another worker goes on
        raise
    except Exception as fault:
        if _fail(job, ANALYSIS_FAILED, at=now()):
            log_fault(jobs.log, "analysis.fault", fault, analysis_id=job.pk)


@in_transaction
def give_up(*, analysis_id: int, at: datetime) -> None:
    """End an analysis as failed that `jobs.given_up` names; one that has ended meanwhile stays as it is."""
    own = Analysis.objects.filter(pk=analysis_id).values_list("project_id", flat=True).first()
    project = own and Project.objects.select_for_update(no_key=True).filter(pk=own).first()
    if project and analysis_id in jobs.abandoned(Analysis, at=at):
        _end_in_vain(
            Analysis.objects.select_for_update().get(pk=analysis_id), project, ANALYSIS_FAILED, at=at
        )


# --- The work -------------------------------------------------------------------------------------


def _made(job: Analysis, now: Clock) -> Result:
    project = Project.objects.filter(pk=job.project_id).first()
    if project is None:
        raise jobs.TakenOver
    if job.checkpoint is None:
        _note_what_is_seen(job, project, now)
    counted = figures.count(project=project, selection=Selection(covers=job.covers))
    if not job.with_ai:
        return Result(counted.blocks)
    return _Reader.of(job, project, counted, now).read()


def _note_what_is_seen(job: Analysis, project: Project, now: Clock) -> None:
    """As of before anything is counted, so that whatever comes meanwhile makes it out of date.

    A worker that takes over leaves it as it is: some of the texts were read by then.
    """
    seen = figures.kept(project.pk)
    jobs.renew(job, at=now(), revision=project.revision, checkpoint={}, **seen)


@dataclass(slots=True)
class _Reader:
    """Reads all open texts of a project and puts everything into words."""

    job: Analysis
    project: Project
    counted: Figures
    locale: str | None
    now: Clock
    turn_ends_at: datetime
    found: dict[str, Findings]  # by block id
    memory: Mapping[str, Any]  # of an earlier analysis: themes by block id, and by whom
    has_got_on: bool = False  # since it was last kept

    @classmethod
    def of(cls, job: Analysis, project: Project, counted: Figures, now: Clock) -> Self:
        done = Analysis.objects.filter(project=project, with_ai=True, status=Job.Status.COMPLETED)
        memory = done.order_by("-pk").values_list("checkpoint", flat=True).first()
        found = (job.checkpoint or {}).get("found", {})
        return cls(
            job=job,
            project=project,
            counted=counted,
            locale=communities.get_settings(community_id=project.community_id).locale,
            now=now,
            turn_ends_at=now() + TURN,
            found={block_id: Findings.from_json(kept) for block_id, kept in found.items()},
            memory=memory or {},
        )

    def read(self) -> Result:
        questions = [block for block in self.counted.blocks if block["block_type"] == "open_text"]
        if not any(block["response_count"] for block in questions):
            return self._without_model(questions)
        self._keep(COUNTED)
        provider = ai.get_provider()
        self._know_earlier_themes(questions, provider)
        for block in questions:
            self._read_question(block, provider)
        for block in questions:
            self._summarize_texts(block, provider)
        self._wait(READ)
        summary = words(provider.summarize_analysis(self._overview()), LONGEST_SUMMARY)
        for block in questions:
            block["open_text"] = self._told(block)
        return Result(self.counted.blocks, summary or None, provider.name, self._memory(provider.name))

    def _without_model(self, questions: Sequence[dict[str, Any]]) -> Result:
        """Where nobody wrote anything no model is asked: the figures are put into words here."""
        for block in questions:
            block["open_text"] = Findings().told(least=anonymity.least_answers(self.project))
        return Result(self.counted.blocks, summarize_analysis(self._overview()), LOCAL, self.memory)

    def _know_earlier_themes(self, questions: Sequence[Mapping[str, Any]], provider: Provider) -> None:
        """Those of the same provider: another's titles are no measure."""
        known = self.memory.get("known", {}) if self.memory.get("by") == provider.name else {}
        for block in questions:
            block_id = str(block["block_id"])
            if block_id not in self.found:
                titles = [(title, description) for title, description in known.get(block_id, ())]
                self.found[block_id] = Findings.knowing(titles)

    def _read_question(self, block: Mapping[str, Any], provider: Provider) -> None:
        findings = self.found[str(block["block_id"])]
        length = max(1, min(provider.max_batch_size, MOST_TEXTS_AT_ONCE))
        while not findings.is_read:
            answers = open_texts.batch(
                project_id=self.project.pk,
                block_id=block["block_id"],
                covers=self.job.covers,
                after=findings.last,
                length=length,
            )
            is_last = len(answers) < length
            if answers:
                texts = _within([text for _, text in answers], MOST_CHARACTERS_AT_ONCE)
                is_last = is_last and len(texts) == len(answers)
                batch = TextBatch(block["prompt"], texts, findings.known, findings.room, self.locale)
                self._wait(self._progress())
                findings.add(texts, provider.read_texts(batch))
                findings.last = str(answers[len(texts) - 1][0])
                self.has_got_on = True
            findings.is_read = is_last
            if not is_last and self.now() >= self.turn_ends_at:
                self._let_others_have_a_turn()

    def _let_others_have_a_turn(self) -> None:
        """Hundreds of thousands of texts take hours, and scripts wait for the same threads."""
        self._keep(self._progress())
        jobs.pause(self.job, at=self.now())
        wake(RUN, analysis_id=self.job.pk)
        raise jobs.TakenOver

    def _summarize_texts(self, block: Mapping[str, Any], provider: Provider) -> None:
        findings = self.found[str(block["block_id"])]
        if findings.summary is not None or not findings.analysed_count:
            return
        counted = TextFigures(
            prompt=block["prompt"],
            answer_count=findings.answer_count,
            themes=[theme for _, theme in findings.counted()],
            sentiment=findings.moods,
            locale=self.locale,
        )
        self._wait(READ)
        findings.summary = words(provider.summarize_texts(counted), LONGEST_SUMMARY)

    def _progress(self) -> float:
        wanted: int = sum(
            block["response_count"] for block in self.counted.blocks if block["block_type"] == "open_text"
        )
        read = sum(findings.answer_count for findings in self.found.values())
        return COUNTED + (READ - COUNTED) * min(1.0, read / wanted)

    def _wait(self, progress: float) -> None:
        """Before a provider is asked: keep what there is, with a new lease, and hold nothing."""
        self._keep(progress)
        jobs.close_connection()

    def _keep(self, progress: float) -> None:
        self.job.progress = max(self.job.progress, round(progress, 3))
        found = {block_id: findings.as_json() for block_id, findings in self.found.items()}
        got_on = {"deaths": 0} if self.has_got_on else {}
        self.has_got_on = False
        jobs.renew(self.job, at=self.now(), progress=self.job.progress, checkpoint={"found": found}, **got_on)

    def _overview(self) -> AnalysisOverview:
        """All that was found, but for what people said themselves: a summary needs none of it."""
        told = [
            block if block["block_type"] != "open_text" else {**block, "open_text": self._counts(block)}
            for block in self.counted.blocks
        ]
        return AnalysisOverview(
            name=self.project.name,
            completion_count=self.counted.completion_count,
            conversation_count=self.counted.conversation_count,
            blocks=told,
            locale=self.locale,
        )

    def _counts(self, block: Mapping[str, Any]) -> dict[str, Any]:
        told = self._told(block)
        return {**told, "themes": [{**theme, "quotes": []} for theme in told["themes"]]}

    def _told(self, block: Mapping[str, Any]) -> dict[str, Any]:
        findings = self.found.get(str(block["block_id"])) or Findings()
        return findings.told(least=anonymity.least_answers(self.project))

    def _memory(self, by: str) -> dict[str, Any]:
        """For the analysis after this one: themes that come back later come back under their titles."""
        earlier = self.memory.get("known", {}) if self.memory.get("by") == by else {}
        known: dict[str, Sequence[Title]] = dict(earlier)
        known |= {block_id: titles for block_id, each in self.found.items() if (titles := each.titles())}
        return {"by": by, "known": known}


def _within(texts: Sequence[str], most: int) -> list[str]:
    """The first of these texts, as many as have so many characters together; one at least."""
    ends = accumulate(map(len, texts))
    return [text for n, (text, end) in enumerate(zip(texts, ends, strict=True)) if n == 0 or end <= most]


# --- The end --------------------------------------------------------------------------------------


@in_transaction
def _complete(job: Analysis, result: Result, *, at: datetime) -> None:
    """The project is locked first, as by whoever deletes it. Raises TakenOver."""
    project = Project.objects.select_for_update(no_key=True).filter(pk=job.project_id).first()
    own = jobs.locked(job)
    assert project is not None  # or its analysis would be gone
    own.status, own.completed_at = Job.Status.COMPLETED, anonymity.rounded(project=project, at=at)
    own.blocks_as_json = wire.render(list(result.blocks)).decode()
    own.summary, own.generated_by = result.summary, result.generated_by
    own.progress, own.checkpoint = 1.0, dict(result.memory)
    if result.generated_by == LOCAL:  # what was to be read was deleted meanwhile
        _return_credits(own, project)
    _end(own, project, at=at)
    finished = [Job.Status.COMPLETED, Job.Status.FAILED]
    if project.is_anonymous:  # the difference between two would be what a single person answered
        Analysis.objects.filter(project=project, status__in=finished).exclude(pk=own.pk).delete()
    else:  # of those like it the one before has done its work
        _like(own).filter(status__in=finished).delete()


@in_transaction
def _fail(job: Analysis, message: str, *, at: datetime) -> bool:
    """End it as failed; False where it is in other hands, or gone."""
    project = Project.objects.select_for_update(no_key=True).filter(pk=job.project_id).first()
    try:
        own = jobs.locked(job)
    except jobs.TakenOver:
        return False
    assert project is not None
    _end_in_vain(own, project, message, at=at)
    return True


def _end_in_vain(own: Analysis, project: Project, message: str, *, at: datetime) -> None:
    _return_credits(own, project)
    own.status, own.error, own.checkpoint = Job.Status.FAILED, message, None
    _end(own, project, at=at)
    _like(own).filter(status=Job.Status.FAILED).delete()


def _return_credits(own: Analysis, project: Project) -> None:
    communities.return_credits(community_id=project.community_id, amount=own.credits_used)
    own.credits_used = 0


def _end(own: Analysis, project: Project, *, at: datetime) -> None:
    own.leased_until = None
    own.save()
    events.analysis_ended(own, project, at=at)


def _like(own: Analysis) -> Any:
    """Those before it that cover the same and were made alike."""
    return Analysis.objects.filter(
        project_id=own.project_id, with_ai=own.with_ai, covers=own.covers, pk__lt=own.pk
    )
