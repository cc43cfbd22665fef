"""The provider that needs nothing: scripts from the template library, texts by classical statistics.

It works offline, is free, and gives the same answer to the same question. Its scripts are English, whatever
locale is asked for: a template in another language would have to be written by somebody who speaks it.
"""

from __future__ import annotations

from surveys.ai.local import filling
from surveys.ai.provider import (
    Correction,
    Overview,
    Reading,
    ScriptDraft,
    ScriptRequest,
    TextBatch,
    TextFigures,
)

__all__ = ["Local"]


class Local:
    name = "local"
    texts_at_once = 2_000

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ScriptDraft:
        """The best template for the intent, filled; with a correction the general one, as plain as it is.

        The tests hold every template to the rules. Should a draft break one all the same, what the intent
        brought into it is the likely cause, so the second draft takes nothing from the intent.
        """
        return filling.draft(request) if correction is None else filling.plain(request)

    # What reads texts is imported where it is called: it loads scikit-learn, hundreds of megabytes and more
    # than a second of it, and a worker that only drafts scripts has no use for that. Neither has the web
    # process, which imports the library beside this for `GET /v1/templates`.

    def read_texts(self, batch: TextBatch) -> Reading:
        from surveys.ai.local import texts  # noqa: PLC0415

        return texts.read_texts(batch)

    def summarize_texts(self, figures: TextFigures) -> str:
        from surveys.ai.local import summaries  # noqa: PLC0415

        return summaries.summarize_texts(figures)

    def summarize(self, overview: Overview) -> str:
        from surveys.ai.local import summaries  # noqa: PLC0415

        return summaries.summarize(overview)
