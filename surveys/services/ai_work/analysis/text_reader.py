"""The reader of open texts in an analysis: its checkpoint, and the batches that come next."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Self

from django.conf import settings

from communities import services as communities
from surveys import ai
from surveys.ai.provider import Provider, TextBatch, TextReading
from surveys.ai.spending import Spending
from surveys.engine.flow.wording import heading
from surveys.engine.script import Script
from surveys.models import Analysis, Project, Theme
from surveys.models.analysis import TEXTS_PER_CREDIT_UNIT
from surveys.services.ai_work import codebook, readings
from surveys.services.ai_work.analysis.texts import verbatim_quote
from surveys.services.ai_work.readings import Text
from surveys.services.ground import jobs
from surveys.services.ground.jobs import Clock
from surveys.services.results.figures import Figures
from surveys.services.scripts import cache as script_cache

# The data of a bulk at the provider: its id, the pass with the version of the codebook and the time, and the
# themes and texts of each batch. A text is stored as its conversation, version and digest.
Bulk = dict[str, Any]

TURN = timedelta(minutes=2)
MAX_TEXTS_PER_BATCH = 5_000
# The progress once the figures are counted, and once all texts are read.
COUNTED, READ = 0.05, 0.9


def paid_texts(job: Analysis) -> float:
    """Return the number of texts that the credits of an analysis pay for; infinity where texts are free."""
    price = settings.CREDITS_FOR_100_TEXTS
    if ai.provider_is_free() or not price:
        return math.inf
    return job.credits_used // price * TEXTS_PER_CREDIT_UNIT


@dataclass(slots=True)
class TextReader:
    """Reads the open texts of a project, from the last checkpoint on.

    Each reading is a row of `readings`, so a worker that takes over continues with unread answers. The
    checkpoint contains the number of texts that were read, the place in each question, and the summaries.
    """

    job: Analysis
    project: Project
    counted: Figures
    script: Script
    questions: list[dict[str, Any]]  # The counted blocks whose texts are read.
    locale: str | None
    now: Clock
    turn_ends_at: datetime
    wanted: int  # The number of unread texts when this worker began.
    paid: float  # At most this many texts may be read.
    read_count: int
    last: dict[str, str]  # The conversation of the last text that was read, by question and pass.
    # The newest theme before this analysis, for each question that gets new themes. Answers that were read
    # against that theme are read again without a charge.
    grown: dict[str, int]
    summaries: dict[str, str]  # The summaries by question.
    spent: Spending  # The costs of calls to the provider, with the calls of earlier workers.
    read_before: int  # Earlier workers have read this many texts.
    bulk: Bulk | None  # The bulk that the provider reads.
    reads_singly: bool  # A bulk has failed, so single calls read the rest.
    has_progressed: bool = False  # Whether texts were read since the last checkpoint.

    @classmethod
    def of(cls, job: Analysis, project: Project, counted: Figures, now: Clock) -> Self:
        """The reader at the last checkpoint of an analysis."""
        stored = job.checkpoint or {}
        question_ids = readings.question_ids(project_id=project.pk)
        return cls(
            job=job,
            project=project,
            counted=counted,
            script=script_cache.of(project).stored.script,
            questions=[block for block in counted.blocks if block["block_id"] in question_ids],
            locale=communities.get_settings(community_id=project.community_id).locale,
            now=now,
            turn_ends_at=now() + TURN,
            wanted=readings.count_unread(project_id=project.pk, covers=job.covers),
            paid=paid_texts(job),
            read_count=stored.get("read", 0),
            last=dict(stored.get("last", {})),
            grown=dict(stored.get("grown", {})),
            summaries=dict(stored.get("summaries", {})),
            spent=Spending(**stored.get("spent", {})),
            read_before=stored.get("read", 0),
            bulk=stored.get("bulk"),
            reads_singly=stored.get("reads_singly", False),
        )

    def batches(
        self,
        block_id: int,
        name: str,
        place: str,
        older_than: int | None,
        provider: Provider,
        *,
        count: int,
        characters: int,
    ) -> list[list[Text]]:
        """Return at most `count` batches after a place, within the limit of characters and the paid number of
        texts.
        """
        length = max(1, min(provider.max_batch_size, MAX_TEXTS_PER_BATCH))
        after = uuid.UUID(self.last[place]) if place in self.last else None
        left = math.inf if name == "grown" else max(0, self.paid - self.read_count)
        wave: list[list[Text]] = []
        while len(wave) < count and left > 0:
            found = readings.to_read(
                project_id=self.project.pk,
                block_id=block_id,
                covers=self.job.covers,
                after=after,
                length=int(min(length, left)),
                older_than=older_than,
                since=self.grown[str(block_id)] if name == "grown" else 0,
            )
            if not found:
                break
            texts = found[: len(_leading_texts([each.text for each in found], characters))]
            wave.append(texts)
            after, left = texts[-1].conversation_id, left - len(texts)
        return wave

    def text_batches(
        self, block: Mapping[str, Any], wave: Sequence[Sequence[Text]], against: Sequence[Sequence[Theme]]
    ) -> list[TextBatch]:
        """The texts with the themes that they are read against, in the form for a provider."""
        return [
            TextBatch(
                self.heading_of(block),
                [each.text for each in texts],
                codebook.as_text_themes(themes),
                readings.examples(block_id=block["block_id"], themes=themes),
                self.locale,
            )
            for texts, themes in zip(wave, against, strict=True)
        ]

    def store(
        self,
        block_id: int,
        texts: Sequence[Text],
        against: Sequence[Theme],
        outcome: Sequence[TextReading | None],
        version: int,
        provider: str,
    ) -> None:
        """Store the readings of a batch. Nothing is stored if the numbers of readings and answers differ."""
        if len(outcome) != len(texts):
            return
        readings.store(
            project=self.project,
            block_id=block_id,
            version=version,
            against=against,
            texts=texts,
            readings=outcome,
            quotes=[
                verbatim_quote(reading.quote, text.text) or "" if reading else ""
                for text, reading in zip(texts, outcome, strict=True)
            ],
            generated_by=provider,
            at=self.now(),
        )

    def heading_of(self, block: Mapping[str, Any]) -> str:
        """Return the prompt without tokens, for a model, because a summary must not quote tokens."""
        return heading(block["prompt"], self.script)

    def progress(self) -> float:
        """The share of the whole analysis that is done."""
        if not self.wanted:
            return READ
        return COUNTED + (READ - COUNTED) * min(1.0, self.read_count / (self.read_before + self.wanted))

    def release_before_call(self, progress: float) -> None:
        """Save a checkpoint with a new lease before a call to the provider, and release the connection."""
        self.save(progress)
        jobs.close_connection()

    def save(self, progress: float) -> None:
        """Save a checkpoint with a new lease. Raises TakenOver if another worker has the analysis."""
        self.job.progress = max(self.job.progress, round(progress, 3))
        checkpoint = {
            "read": self.read_count,
            "last": self.last,
            "grown": self.grown,
            "summaries": self.summaries,
            "spent": self.spent.as_json(),
        }
        if self.bulk is not None or self.reads_singly:
            checkpoint |= {"bulk": self.bulk, "reads_singly": self.reads_singly}
        self.job.checkpoint = checkpoint
        reset = {"deaths": 0} if self.has_progressed else {}
        self.has_progressed = False
        jobs.renew(self.job, at=self.now(), progress=self.job.progress, checkpoint=checkpoint, **reset)


def against_newer(themes: Sequence[Theme], wave: Sequence[Sequence[Text]]) -> list[list[Theme]]:
    """The themes that each batch is read against: those that are newer than its readings."""
    return [
        [theme for theme in themes if theme.since > min(text.version for text in texts)] for texts in wave
    ]


def _leading_texts(texts: Sequence[str], most: int) -> list[str]:
    """The first texts, as many as fit into `most` characters together; at least one."""
    ends = accumulate(map(len, texts))
    return [text for n, (text, end) in enumerate(zip(texts, ends, strict=True)) if n == 0 or end <= most]
