"""The part of an analysis that has a provider read open texts and write summaries.

    TextAnalysis.of(job, project, counted, now).read()    from its last checkpoint to its end

No lock and no transaction is held while the provider works. Before each call the worker saves its progress as
a checkpoint, from which another worker can continue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from communities.ground.errors import NotFound
from communities.ground.queue import wake
from surveys import ai
from surveys.ai.local.summaries.analysis import summarize_analysis
from surveys.ai.local.summaries.open_question import summarize_texts
from surveys.ai.provider import LOCAL, AnalysisOverview, Provider, TextFigures, TextReading, TextSample
from surveys.ai.spending import Spending, measure
from surveys.models import Analysis, Codebook, Job, Theme
from surveys.services.ai_work import codebook, readings
from surveys.services.ai_work.analysis import differences
from surveys.services.ai_work.analysis.bulk_readings import may_read_in_bulk, place_in_bulk, read_in_bulk
from surveys.services.ai_work.analysis.text_reader import (
    COUNTED,
    MAX_TEXTS_PER_BATCH,
    READ,
    TextReader,
    against_newer,
)
from surveys.services.ai_work.analysis.texts import (
    MAX_SUMMARY,
    FoundThemes,
    clean_text,
    cleaned,
    figures_of,
    well_founded,
)
from surveys.services.ai_work.readings import Text
from surveys.services.ground import anonymity, jobs
from surveys.services.results.figures import Figures

RUN = "surveys.run_analysis"
MAX_CHARACTERS_PER_BATCH = 200_000  # A provider must finish a batch of this length well within a lease.
MAX_NEW_THEMES = 12  # The provider names at most this many new themes at once.
# An analysis looks for new themes under three conditions: this number of answers fits no theme, this share of
# all answers fits none, and the number has grown by this factor since the last search.
MIN_UNFIT, MAX_UNFIT_SHARE, UNFIT_GROWTH = 5, 0.2, 1.25


@dataclass(frozen=True, slots=True)
class AnalysisResult:
    """The outcome of an analysis."""

    counted: Figures
    summary: str | None = None
    generated_by: str | None = None
    spent: Spending | None = None


class TextAnalysis(TextReader):
    """The part of an analysis that reads open texts and writes summaries."""

    def read(self) -> AnalysisResult:
        has_texts = any(block["response_count"] for block in self.questions)
        if not has_texts or (not self.paid and not ai.provider_is_free() and self.wanted):
            return self._without_model()
        self.save(COUNTED)
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
        self.release_before_call(READ)
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
        """Return whether many of the answers fit no theme, clearly more than at the last search."""
        passes = [f"{block_id} {name}" for name in ("unread", "outdated")]
        if not any(place in self.last or place_in_bulk(place) in self.last for place in passes):
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
            self.heading_of(block),
            sample,
            codebook.as_text_themes(known),
            min(room, MAX_NEW_THEMES),
            self.locale,
        )
        self.release_before_call(self.progress())
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
        while may_read_in_bulk(self) and read_in_bulk(self, block, provider, name, older_than, book.version):
            pass
        while wave := self._wave(block_id, name, place, older_than, provider):
            against = against_newer(all_themes, wave)
            self.release_before_call(self.progress())
            outcomes = self._assign(block, provider, wave, against)
            for texts, themes, outcome in zip(wave, against, outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    self.save(self.progress())  # The checkpoint records the texts of this wave as paid.
                    raise outcome
                self.store(block_id, texts, themes, outcome, book.version, provider.name)
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
        return self.batches(
            block_id, name, place, older_than, provider, count=count, characters=MAX_CHARACTERS_PER_BATCH
        )

    def _assign(
        self,
        block: Mapping[str, Any],
        provider: Provider,
        wave: Sequence[Sequence[Text]],
        against: Sequence[Sequence[Theme]],
    ) -> list[Sequence[TextReading | None] | BaseException]:
        """Return the readings of the provider for each batch, or the error of the call."""
        batches = self.text_batches(block, wave, against)
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

    def _is_last(self, wave: Sequence[Sequence[Text]], provider: Provider) -> bool:
        """Return whether a wave was so small that no text remains."""
        return len(wave) == 1 and len(wave[0]) < max(1, min(provider.max_batch_size, MAX_TEXTS_PER_BATCH))

    def _hand_on(self) -> None:
        """Free this thread for waiting jobs, because hundreds of thousands of texts take hours."""
        self.save(self.progress())
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
            prompt=self.heading_of(block),
            answer_count=found.answer_count,
            themes=[theme for _, theme in counts.ranked],
            sentiment=counts.moods,
            locale=self.locale,
            unjudged_count=counts.unjudged_count,
        )
        self.release_before_call(READ)
        self.summaries[block_id] = well_founded(
            lambda: clean_text(provider.summarize_texts(counted), MAX_SUMMARY),
            figures_of(counted),
            otherwise=lambda: summarize_texts(counted),
        )

    def _overview(self) -> AnalysisOverview:
        """Return all findings without quotes, because a summary does not need people's own words."""
        blocks = [{**block, "prompt": self.heading_of(block)} for block in self.counted.blocks]
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

    def _counts(self, block: Mapping[str, Any]) -> dict[str, Any]:
        open_text = self._open_text(block)
        return {**open_text, "themes": [{**theme, "quotes": []} for theme in open_text["themes"]]}

    def _found(self, block: Mapping[str, Any]) -> FoundThemes:
        return FoundThemes.of(block_id=block["block_id"], covers=self.job.covers)

    def _open_text(self, block: Mapping[str, Any]) -> dict[str, Any]:
        summary = self.summaries.get(str(block["block_id"]))
        return self._found(block).report(summary, least=anonymity.least_answers(self.project))


def _newest(themes: Sequence[Theme]) -> int:
    """The version of the codebook with the newest of these themes; 0 if there are none."""
    return max((theme.since for theme in themes), default=0)
