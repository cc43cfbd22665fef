"""Five labelled sets of answers, and how an analysis reads them.

These are test sets: words, phrases and thresholds are never chosen by looking at their answers. Sets to tune
by are in tests/ai/answers. All were written and labelled by one person, so they are easier than the answers
of strangers.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from surveys.ai.provider import TextBatch, TextReading, TextSample, TextTheme

SETS = ("banking", "festival", "arbeit", "gym_mixed", "leaving_short")
_MAX_SAMPLE = 300
_MIN_UNFIT, _MAX_UNFIT_SHARE = 5, 0.2  # as an analysis does


class ReadsTexts(Protocol):
    """The part of a provider that reads texts."""

    max_batch_size: int

    def name_themes(self, sample: TextSample) -> Sequence[TextTheme]:
        """As of `surveys.ai.provider.Provider`."""

    def assign_themes(self, batch: TextBatch) -> Sequence[TextReading | None]:
        """As of `surveys.ai.provider.Provider`."""


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Answers to a question, with their themes and sentiments as a person sees them."""

    name: str
    prompt: str
    texts: Sequence[str]
    themes: Sequence[Set[str]]
    sentiments: Sequence[str | None]


def load(name: str) -> LabelledSet:
    """One of SETS."""
    stored = json.loads((Path(__file__).parent / "answers" / f"{name}.json").read_text(encoding="utf-8"))
    answers = stored["answers"]
    return LabelledSet(
        name=name,
        prompt=stored["prompt"],
        texts=[answer["text"] for answer in answers],
        themes=[frozenset(answer["themes"]) for answer in answers],
        sentiments=[answer["sentiment"] for answer in answers],
    )


def read(provider: ReadsTexts, labelled: LabelledSet) -> tuple[list[TextTheme], list[TextReading]]:
    """Read a set as an analysis does: name themes, assign all answers, and name more if many fit none."""
    themes = list(
        provider.name_themes(TextSample(prompt=labelled.prompt, answers=labelled.texts[:_MAX_SAMPLE]))
    )
    readings = _assign(provider, labelled, themes)
    unfit = [text for text, each in zip(labelled.texts, readings, strict=True) if not each.themes]
    if len(unfit) < max(_MIN_UNFIT, _MAX_UNFIT_SHARE * len(readings)):
        return themes, readings
    more = provider.name_themes(
        TextSample(prompt=labelled.prompt, answers=unfit[:_MAX_SAMPLE], known_themes=themes)
    )
    later = _assign(provider, labelled, more) if more else []
    return [*themes, *more], [
        TextReading(
            (*first.themes, *(len(themes) + theme for theme in second.themes)), first.sentiment, first.quote
        )
        for first, second in zip(readings, later or [TextReading()] * len(readings), strict=True)
    ]


def _assign(provider: ReadsTexts, labelled: LabelledSet, themes: Sequence[TextTheme]) -> list[TextReading]:
    readings: list[TextReading] = []
    for start in range(0, len(labelled.texts), provider.max_batch_size):
        texts = labelled.texts[start : start + provider.max_batch_size]
        batch = TextBatch(prompt=labelled.prompt, answers=texts, themes=themes)
        readings += [each or TextReading(sentiment=None) for each in provider.assign_themes(batch)]
    return readings


def themes_by_factorisation(labelled: LabelledSet, *, count: int = 12) -> list[Set[Hashable]]:
    """Themes by plain TF-IDF of words and non-negative matrix factorisation, to compare with."""
    from sklearn.decomposition import NMF  # noqa: PLC0415 - takes seconds to load
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415

    weights = TfidfVectorizer(min_df=2, stop_words="english").fit_transform(labelled.texts)
    strengths = NMF(count, init="nndsvda", random_state=0, max_iter=500).fit_transform(weights)
    return [{int(each.argmax())} if each.max() > 0 else set() for each in strengths]
