"""The local provider: it drafts scripts from a template library and reads texts by classical statistics.

It works offline, costs nothing, and always gives the same answer to the same request. It writes scripts in
the language of the intent: English, French, German, Portuguese or Spanish. It refuses other languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from surveys.ai.local.drafts import builder, drafting
from surveys.ai.local.review import review
from surveys.ai.local.summaries import analysis, open_question, questions
from surveys.ai.provider import (
    LOCAL,
    NO_BULK,
    AnalysisOverview,
    BulkState,
    Claim,
    Correction,
    FollowUpRequest,
    ProposedScript,
    ProviderError,
    Remark,
    ResultsQuestion,
    RevisionRequest,
    ScriptRequest,
    TextBatch,
    TextFigures,
    TextReading,
    TextSample,
    TextTheme,
)

__all__ = ["LocalProvider"]

NEEDS_A_MODEL = (
    "Changing a script by an instruction needs a model. Change it in the editor, or ask the operator to "
    "connect a model."
)
_READS_NOTHING = (
    "This installation reads no answers without a model: its operator can install the extra `offline-ai`, or "
    "connect a model."
)


class LocalProvider:
    """The provider `local`."""

    name = LOCAL
    max_batch_size = 2_000

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ProposedScript:
        """Fill the template that matches the intent best. With a correction, return a general template
        unchanged.

        The tests check every template against the rules. If a draft still breaks a rule, the cause is
        probably a text from the intent, so the second draft contains no text from the intent.
        """
        return drafting.draft_for_intent(request) if correction is None else builder.fallback_draft(request)

    def revise_script(self, request: RevisionRequest, correction: Correction | None = None) -> ProposedScript:
        """Refuse: templates cannot follow an instruction."""
        raise ProviderError(NEEDS_A_MODEL)

    # Reading texts needs scikit-learn, which takes more than a second and hundreds of megabytes to load.
    # Workers that only draft scripts and the web process, which imports the template library, do without
    # scikit-learn.

    def name_themes(self, sample: TextSample) -> Sequence[TextTheme]:
        """Name themes of the seed codebook that occur in the answers, and clusters of the other answers."""
        _require_packages()
        from surveys.ai.local.texts import reading  # noqa: PLC0415

        return reading.name_themes(sample)

    def assign_themes(self, batch: TextBatch) -> Sequence[TextReading | None]:
        """Assign answers to themes by typical phrases of the themes, and read sentiment from a lexicon."""
        _require_packages()
        from surveys.ai.local.texts import reading  # noqa: PLC0415

        return reading.assign_themes(batch)

    def begin_bulk(self, batches: Sequence[TextBatch]) -> None:
        """Begin nothing: the local provider reads all texts at once."""

    def look_at_bulk(self, bulk_id: str) -> BulkState:
        """Refuse: there is no bulk."""
        raise ProviderError(NO_BULK)

    def end_bulk(self, bulk_id: str, batches: Sequence[TextBatch]) -> Sequence[None]:
        """Refuse: there is no bulk."""
        raise ProviderError(NO_BULK)

    def cancel_bulk(self, bulk_id: str) -> None:
        """Do nothing: there is no bulk."""

    def review_script(self, blocks: Sequence[Mapping[str, object]], locale: str | None) -> Sequence[Remark]:
        """Find weaknesses of questions by rules."""
        return review(blocks)

    def summarize_texts(self, figures: TextFigures) -> str:
        """Put the counts of one open question into sentences."""
        return open_question.summarize_texts(figures)

    def summarize_analysis(self, overview: AnalysisOverview) -> str:
        """Put the figures of a whole analysis into sentences."""
        return analysis.summarize_analysis(overview)

    def answer_question(self, question: ResultsQuestion) -> list[Claim]:
        """Return the figures that share their words with the question."""
        return questions.answer_question(question)

    def ask_further(self, request: FollowUpRequest) -> None:
        """Ask nothing: only a model can refer to what somebody has said."""


def _require_packages() -> None:
    if find_spec("sklearn") is None:
        raise ProviderError(_READS_NOTHING)
