"""The part of an analysis that has a provider read open texts and write summaries.

    TextAnalysis.of(job, project, counted, now).read()    from its last checkpoint to its end

No lock and no transaction is held while the provider works. Before each call the worker saves its progress as
a checkpoint, from which another worker can continue.
"""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Self

from django.conf import settings

from communities import services as communities
from communities.ground.errors import NotFound
from communities.ground.queue import wake
from surveys import ai
from surveys.ai.local.summaries.analysis import summarize_analysis
from surveys.ai.local.summaries.open_question import summarize_texts
from surveys.ai.provider import (
    LOCAL,
    AnalysisOverview,
    Provider,
    ProviderError,
    TextBatch,
    TextFigures,
    TextReading,
    TextSample,
)
from surveys.ai.spending import Spending, measure
from surveys.engine.flow.wording import heading
from surveys.engine.script import Script
from surveys.models import Analysis, Codebook, Job, Project, Theme
from surveys.models.analysis import TEXTS_PER_CREDIT_UNIT
from surveys.services.ai_work import codebook, readings
from surveys.services.ai_work.analysis import differences
from surveys.services.ai_work.analysis.texts import (
    MAX_SUMMARY,
    FoundThemes,
    clean_text,
    cleaned,
    figures_of,
    verbatim_quote,
    well_founded,
)
from surveys.services.ai_work.readings import Text
from surveys.services.ground import anonymity, jobs
from surveys.services.ground.jobs import Clock
from surveys.services.results.figures import Figures
from surveys.services.scripts import cache as script_cache

# The data of a bulk at the provider: its id, the pass with the version of the codebook and the time, and the
# themes and texts of each batch. A text is stored as its conversation, version and digest.
Bulk = dict[str, Any]

RUN = "surveys.run_analysis"
TURN = timedelta(minutes=2)
MAX_TEXTS_PER_BATCH = 5_000
MAX_CHARACTERS_PER_BATCH = 200_000  # A provider must finish a batch of this length well within a lease.
MAX_NEW_THEMES = 12  # The provider names at most this many new themes at once.
# An analysis looks for new themes under three conditions: this number of answers fits no theme, this share of
# all answers fits none, and the number has grown by this factor since the last search.
MIN_UNFIT, MAX_UNFIT_SHARE, UNFIT_GROWTH = 5, 0.2, 1.25
# A bulk has at most this many texts. The checkpoint contains their ids, and the memory contains their texts
# once the bulk has ended.
MAX_TEXTS_IN_BULK = 10_000
MAX_CHARACTERS_OF_PIECE = 60_000  # A batch in a bulk is one request, so it has at most this many characters.
BULK_LOOKS = timedelta(minutes=1)
# A provider ends a bulk within a day. After this time, single calls read the texts.
MAX_WAIT_FOR_BULK = timedelta(hours=26)
# The progress once the figures are counted, and once all texts are read.
COUNTED, READ = 0.05, 0.9


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The outcome of an analysis."""

    counted: Figures
    summary: str | None = None
    generated_by: str | None = None
    spent: Spending | None = None


def paid_texts(job: Analysis) -> float:
    """Return the number of texts that the credits of an analysis pay for; infinity where texts are free."""
    price = settings.CREDITS_FOR_100_TEXTS
    if ai.provider_is_free() or not price:
        return math.inf
    return job.credits_used // price * TEXTS_PER_CREDIT_UNIT


@dataclass(slots=True)
class TextAnalysis:
    """The part of an analysis that reads open texts and writes summaries.

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
        stored = job.checkpoint or {}
        question_ids = readings.question_ids(project_id=project.pk)
        return cls(
            job=job,
            project=project,
            counted=counted,
            script=script_cache.get(project.pk, project.revision).stored.script,
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

    def read(self) -> AnalysisResult:
        has_texts = any(block["response_count"] for block in self.questions)
        if not has_texts or (not self.paid and not ai.provider_is_free() and self.wanted):
            return self._without_model()
        self._save(COUNTED)
        with measure(self.spent):
            return self._with_model()

    def _with_model(self) -> AnalysisResult:
        provider = ai.get_provider()
        try:
            for block in self.questions:
                if block["response_count"]:
                    self._read_question(block, provider)
        except NotFound as gone:  # The project is being deleted.
            raise jobs.TakenOver from gone
        for block in self.questions:
            self._summarize_texts(block, provider)
        overview = self._overview()
        self._release_before_call(READ)
        summary = well_founded(
            lambda: clean_text(provider.summarize_analysis(overview), MAX_SUMMARY),
            figures_of(overview),
            otherwise=lambda: summarize_analysis(overview),
        )
        for block in self.questions:
            block["open_text"] = self._open_text(block)
        return AnalysisResult(self.counted, summary or None, provider.name, self.spent)

    def _without_model(self) -> AnalysisResult:
        """The result if there is nothing to read: a summary of the figures, without a model."""
        for block in self.questions:
            block["open_text"] = self._open_text(block)
        return AnalysisResult(self.counted, summarize_analysis(self._overview()), LOCAL)

    # --- Reading ---

    def _read_question(self, block: Mapping[str, Any], provider: Provider) -> None:
        """Name themes if the question has none, read unread answers, and then read outdated answers against
        newer themes.

        The analysis looks for new themes only if it has read paid answers.
        """
        block_id = block["block_id"]
        book, themes = codebook.for_provider(project=self.project, block_id=block_id, provider=provider.name)
        if not book.generated_by:
            self._name_themes(block, provider, themes, readings.sample(block_id=block_id))
        self._read_pass(block, provider, "unread")
        if str(block_id) not in self.grown:
            self._read_pass(block, provider, "outdated")
            if not self._needs_more_themes(block_id):
                return
            known = codebook.live(block_id=block_id)
            self.grown[str(block_id)] = _newest(known)
            self._name_themes(block, provider, known, readings.sample_unfit(block_id=block_id))
        self._read_pass(block, provider, "grown")

    def _needs_more_themes(self, block_id: int) -> bool:
        """Return whether answers were read of which many fit no theme, clearly more than at the
        last search.
        """
        passes = [f"{block_id} {name}" for name in ("unread", "outdated")]
        if not any(place in self.last or _in_bulk(place) in self.last for place in passes):
            return False
        unfit, read = readings.unfit_share(block_id=block_id)
        book = Codebook.objects.get(pk=block_id)
        is_many = unfit >= MIN_UNFIT and unfit > MAX_UNFIT_SHARE * read and unfit >= UNFIT_GROWTH * book.unfit
        return is_many and len(codebook.live(block_id=block_id)) < codebook.MAX_THEMES

    def _name_themes(
        self, block: Mapping[str, Any], provider: Provider, known: Sequence[Theme], sample: Sequence[str]
    ) -> None:
        """Have themes named from a sample."""
        room = codebook.MAX_THEMES - len(known)
        texts = TextSample(
            self._heading(block),
            sample,
            codebook.as_text_themes(known),
            min(room, MAX_NEW_THEMES),
            self.locale,
        )
        self._release_before_call(self._progress())
        named = provider.name_themes(texts) if sample and room > 0 else ()
        unfit, _ = readings.unfit_share(block_id=block["block_id"])
        codebook.add(
            project=self.project,
            block_id=block["block_id"],
            named=cleaned(named),
            provider=provider.name,
            unfit=unfit,
        )

    def _read_pass(self, block: Mapping[str, Any], provider: Provider, name: str) -> None:
        """Read all texts of a question that need a reading, several batches at once.

        The pass `unread` reads against all themes. The pass `outdated` reads against the themes that are
        newer than an answer's reading. The pass `grown` reads answers that were not outdated before against
        the themes named in this analysis. The price includes `grown`.
        """
        block_id, place = block["block_id"], f"{block['block_id']} {name}"
        book, all_themes = codebook.for_provider(
            project=self.project, block_id=block_id, provider=provider.name
        )
        older_than = None if name == "unread" else _newest(all_themes)
        while self._may_read_in_bulk() and self._read_in_bulk(
            block, provider, name, older_than, book.version
        ):
            pass
        while wave := self._wave(block_id, name, place, older_than, provider):
            against = _against(all_themes, wave)
            self._release_before_call(self._progress())
            outcomes = self._assign(block, provider, wave, against)
            for texts, themes, outcome in zip(wave, against, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    self._save(self._progress())  # The checkpoint records the texts of this wave as paid.
                    raise outcome
                self._store(block_id, texts, themes, outcome, book.version, provider.name)
                self.read_count += len(texts) if name != "grown" else 0
                self.last[place] = str(texts[-1].conversation_id)
                self.has_progressed = True
            if self.now() >= self.turn_ends_at and not self._is_last(wave, provider):
                self._hand_on()

    def _wave(
        self, block_id: int, name: str, place: str, older_than: int | None, provider: Provider
    ) -> list[list[Text]]:
        """Return the next batches to read at the same time, within the paid number of texts."""
        count = 1 if ai.provider_is_free() else settings.AI_CALLS_AT_ONCE
        return self._batches(
            block_id, name, place, older_than, provider, count=count, characters=MAX_CHARACTERS_PER_BATCH
        )

    def _batches(
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

    def _assign(
        self,
        block: Mapping[str, Any],
        provider: Provider,
        wave: Sequence[Sequence[Text]],
        against: Sequence[Sequence[Theme]],
    ) -> list[Sequence[TextReading | None] | BaseException]:
        """Return the readings of the provider for each batch, or the error of the call."""
        batches = self._text_batches(block, wave, against)
        jobs.close_connection()
        if len(batches) == 1:
            return [provider.assign_themes(batches[0])]
        with ThreadPoolExecutor(len(batches), thread_name_prefix="reading") as threads:
            calls = [
                # In a copy of the context, the call adds to the measured costs.
                threads.submit(copy_context().run, provider.assign_themes, batch)
                for batch in batches
            ]
            return [call.exception() or call.result() for call in calls]

    def _text_batches(
        self, block: Mapping[str, Any], wave: Sequence[Sequence[Text]], against: Sequence[Sequence[Theme]]
    ) -> list[TextBatch]:
        return [
            TextBatch(
                self._heading(block),
                [each.text for each in texts],
                codebook.as_text_themes(themes),
                readings.examples(block_id=block["block_id"], themes=themes),
                self.locale,
            )
            for texts, themes in zip(wave, against, strict=True)
        ]

    # --- Reading in bulk ---

    def _may_read_in_bulk(self) -> bool:
        if self.reads_singly or ai.provider_is_free():
            return False
        return self.bulk is not None or self.wanted >= settings.AI_BULK_FROM > 0

    def _read_in_bulk(
        self, block: Mapping[str, Any], provider: Provider, name: str, older_than: int | None, version: int
    ) -> bool:
        """Read the next texts of a pass in bulk. Return False if single calls read the rest.

        Raises TakenOver while the provider works; a worker looks again later.
        """
        place = _in_bulk(f"{block['block_id']} {name}")
        if self.bulk is None and not self._begin_bulk(block, provider, name, place, older_than, version):
            return False
        if self.bulk is None or self.bulk["place"] != place:  # A bulk of another pass has to end first.
            return False
        outcomes, wave, against = self._end_bulk(block, provider, self.bulk)
        for texts, themes, outcome in zip(wave, against, outcomes, strict=True):
            if outcome is None:
                continue
            kept = [n for n, text in enumerate(texts) if text.text]
            if kept:
                same, read = [texts[n] for n in kept], [outcome[n] for n in kept]
                self._store(block["block_id"], same, themes, read, self.bulk["version"], provider.name)
            self.read_count += len(texts) if name != "grown" else 0
        self.bulk, self.has_progressed = None, True
        self._save(self._progress())
        return True

    def _begin_bulk(
        self,
        block: Mapping[str, Any],
        provider: Provider,
        name: str,
        place: str,
        older_than: int | None,
        version: int,
    ) -> bool:
        """Send the next texts to the provider in bulk, if there are many texts."""
        count = max(1, MAX_TEXTS_IN_BULK // max(1, min(provider.max_batch_size, MAX_TEXTS_PER_BATCH)))
        wave = self._batches(
            block["block_id"],
            name,
            place,
            older_than,
            provider,
            count=count,
            characters=MAX_CHARACTERS_OF_PIECE,
        )
        if len(wave) < count and sum(map(len, wave)) < settings.AI_BULK_FROM:
            return False
        against = _against(codebook.live(block_id=block["block_id"]), wave)
        batches = self._text_batches(block, wave, against)
        self._release_before_call(self._progress())
        bulk_id = None
        with suppress(ProviderError):
            bulk_id = provider.begin_bulk(batches)
        if bulk_id is None:
            self.reads_singly = True
            return False
        self.last[place] = str(wave[-1][-1].conversation_id)
        self.bulk = {
            "id": bulk_id,
            "place": place,
            "version": version,
            "begun": self.now().isoformat(),
            "themes": [[theme.pk for theme in themes] for themes in against],
            "texts": [
                [[str(t.conversation_id), t.version, _digest(t.text)] for t in texts] for texts in wave
            ],
        }
        self._wait_for_bulk()
        return True

    def _end_bulk(
        self, block: Mapping[str, Any], provider: Provider, bulk: Bulk
    ) -> tuple[Sequence[Sequence[TextReading | None] | None], list[list[Text]], list[list[Theme]]]:
        """Return the readings of an ended bulk, with its texts and themes.

        A text that has changed since it was sent is empty.
        """
        self._release_before_call(self._progress())
        outcomes: Sequence[Sequence[TextReading | None] | None] | None = None
        is_ended = False
        wave: list[list[Text]] = []
        against: list[list[Theme]] = []
        with suppress(ProviderError):
            is_ended = provider.look_at_bulk(bulk["id"]).is_ended
        if is_ended:
            wave, against = self._sent(block["block_id"], bulk)
            batches = self._text_batches(block, wave, against)
            jobs.close_connection()
            with suppress(ProviderError):
                outcomes = provider.end_bulk(bulk["id"], batches)
        if outcomes is not None:
            return outcomes, wave, against
        if self.now() < datetime.fromisoformat(bulk["begun"]) + MAX_WAIT_FOR_BULK:
            self._wait_for_bulk()
        cancel_bulk(bulk["id"])
        self.reads_singly = True
        return [], [], []

    def _sent(self, block_id: int, bulk: Bulk) -> tuple[list[list[Text]], list[list[Theme]]]:
        """Return the texts of a bulk in their order, and the themes against which the provider read them."""
        ids = [uuid.UUID(pk) for texts in bulk["texts"] for pk, _, _ in texts]
        now = readings.texts(block_id=block_id, conversation_ids=ids)
        themes = {theme.pk: theme for theme in Theme.objects.filter(block_id=block_id)}
        gone = Theme(pk=0, block_id=block_id)
        wave = [
            [
                Text(
                    uuid.UUID(pk),
                    text if _digest(text := now.get(uuid.UUID(pk), "")) == digest else "",
                    version,
                )
                for pk, version, digest in texts
            ]
            for texts in bulk["texts"]
        ]
        return wave, [[themes.get(pk, gone) for pk in against] for against in bulk["themes"]]

    def _wait_for_bulk(self) -> None:
        """Give the job back until the next look at the bulk."""
        self.has_progressed = True
        self._save(self._progress())
        jobs.pause(self.job, at=self.now() + BULK_LOOKS)
        raise jobs.TakenOver

    def _store(
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

    def _is_last(self, wave: Sequence[Sequence[Text]], provider: Provider) -> bool:
        """Return whether a wave was so small that no text remains."""
        return len(wave) == 1 and len(wave[0]) < max(1, min(provider.max_batch_size, MAX_TEXTS_PER_BATCH))

    def _hand_on(self) -> None:
        """Free this thread for waiting jobs, because hundreds of thousands of texts take hours."""
        self._save(self._progress())
        jobs.pause(self.job, at=self.now())
        wake(RUN, analysis_id=self.job.pk)
        raise jobs.TakenOver

    # --- Words ---

    def _summarize_texts(self, block: Mapping[str, Any], provider: Provider) -> None:
        block_id = str(block["block_id"])
        found = self._found(block)
        counts = found.counts
        if block_id in self.summaries or not counts.read_count:
            return
        counted = TextFigures(
            prompt=self._heading(block),
            answer_count=found.answer_count,
            themes=[theme for _, theme in counts.ranked],
            sentiment=counts.moods,
            locale=self.locale,
            unjudged_count=counts.unjudged_count,
        )
        self._release_before_call(READ)
        self.summaries[block_id] = well_founded(
            lambda: clean_text(provider.summarize_texts(counted), MAX_SUMMARY),
            figures_of(counted),
            otherwise=lambda: summarize_texts(counted),
        )

    def _overview(self) -> AnalysisOverview:
        """Return all findings without quotes, because a summary does not need people's own words."""
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
            differences=self._differences(blocks),
        )

    def _differences(self, blocks: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return sentences about significant differences between groups, and since the last analysis. On
        anonymous projects, groups are not compared.
        """
        if self.project.is_anonymous:
            return []
        found = differences.between_groups(project=self.project, counted=self.counted, covers=self.job.covers)
        done = Analysis.objects.filter(
            project=self.project, with_ai=True, covers=self.job.covers, status=Job.Status.COMPLETED
        )
        earlier = done.order_by("-pk").first()
        return [*found, *(differences.since(earlier, blocks) if earlier else [])]

    def _heading(self, block: Mapping[str, Any]) -> str:
        """Return the prompt without tokens, for a model, because a summary must not quote tokens."""
        return heading(block["prompt"], self.script)

    def _counts(self, block: Mapping[str, Any]) -> dict[str, Any]:
        open_text = self._open_text(block)
        return {**open_text, "themes": [{**theme, "quotes": []} for theme in open_text["themes"]]}

    def _found(self, block: Mapping[str, Any]) -> FoundThemes:
        return FoundThemes.of(block_id=block["block_id"], covers=self.job.covers)

    def _open_text(self, block: Mapping[str, Any]) -> dict[str, Any]:
        summary = self.summaries.get(str(block["block_id"]))
        return self._found(block).report(summary, least=anonymity.least_answers(self.project))

    # --- Progress ---

    def _progress(self) -> float:
        if not self.wanted:
            return READ
        return COUNTED + (READ - COUNTED) * min(1.0, self.read_count / (self.read_before + self.wanted))

    def _release_before_call(self, progress: float) -> None:
        """Save a checkpoint with a new lease before a call to the provider, and release the connection."""
        self._save(progress)
        jobs.close_connection()

    def _save(self, progress: float) -> None:
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


def cancel_bulk(bulk_id: str) -> None:
    """Stop a bulk whose readings nobody needs. Never call this inside a transaction."""
    with suppress(ProviderError):
        ai.get_provider().cancel_bulk(bulk_id)


def _in_bulk(place: str) -> str:
    """Return the name of a pass's place in bulk. Single calls read the texts that a bulk left unread, from
    the beginning.
    """
    return f"{place} in bulk"


def _against(themes: Sequence[Theme], wave: Sequence[Sequence[Text]]) -> list[list[Theme]]:
    """The themes that each batch is read against: those that are newer than its readings."""
    return [
        [theme for theme in themes if theme.since > min(text.version for text in texts)] for texts in wave
    ]


def _digest(text: str) -> str:
    """A digest that shows whether a text has changed since the text was sent."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _newest(themes: Sequence[Theme]) -> int:
    """The version of the codebook with the newest of these themes; 0 if there are none."""
    return max((theme.since for theme in themes), default=0)


def _leading_texts(texts: Sequence[str], most: int) -> list[str]:
    """The first texts, as many as fit into `most` characters together; at least one."""
    ends = accumulate(map(len, texts))
    return [text for n, (text, end) in enumerate(zip(texts, ends, strict=True)) if n == 0 or end <= most]
