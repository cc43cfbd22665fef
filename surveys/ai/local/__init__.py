"""The local provider: it drafts scripts from a template library and reads texts by classical statistics.

It works offline, costs nothing, and always gives the same answer to the same request. Its scripts are in
English for every locale, because each template would need a native speaker to write it in another language.
"""

from __future__ import annotations

from surveys.ai.local.drafts import builder
from surveys.ai.provider import (
    LOCAL,
    AnalysisOverview,
    BatchReading,
    Correction,
    ScriptDraft,
    ScriptRequest,
    TextBatch,
    TextFigures,
)

__all__ = ["LocalProvider"]


class LocalProvider:
    """The provider `local`."""

    name = LOCAL
    max_batch_size = 2_000

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ScriptDraft:
        """Fill the template that matches the intent best; with a correction, return a general template as is.

        The tests check every template against the rules. If a draft breaks a rule all the same, something
        taken from the intent is the likely cause, so the second draft takes nothing from the intent.
        """
        return builder.draft_for_intent(request) if correction is None else builder.fallback_draft(request)

    # The modules that read texts load scikit-learn, which takes more than a second and hundreds of megabytes.
    # They are imported inside the methods, so that a worker that only drafts scripts never loads it, nor does
    # the web process, which imports the template library for `GET /v1/templates`.

    def read_texts(self, batch: TextBatch) -> BatchReading:
        from surveys.ai.local.texts import reading  # noqa: PLC0415

        return reading.read_texts(batch)

    def summarize_texts(self, figures: TextFigures) -> str:
        from surveys.ai.local.summaries import open_question  # noqa: PLC0415

        return open_question.summarize_texts(figures)

    def summarize_analysis(self, overview: AnalysisOverview) -> str:
        from surveys.ai.local.summaries import analysis  # noqa: PLC0415

        return analysis.summarize_analysis(overview)
