"""Answers whose reading staff corrected, as examples for answers in nearly the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, plain
from surveys.ai.local.texts.threads import use_one_thread
from surveys.ai.provider import TextExample

_MIN_LIKENESS = 0.7
_AT_ONCE = 512  # This number limits the memory of a comparison.


class Examples:
    """Examples, prepared for comparison with many answers."""

    def __init__(self, examples: Sequence[TextExample]) -> None:
        self._examples = [each for each in examples if plain(each.text).strip()]
        self._vectorizer: Any = None
        if self._examples:
            from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - takes more than a second

            self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False)
            self._vectors = self._vectorizer.fit_transform(
                [_comparable(each.text) for each in self._examples]
            )

    def nearest(self, texts: Sequence[str]) -> list[TextExample | None]:
        """Return the most similar example for each text; None for a text without a similar example."""
        if not self._examples:
            return [None] * len(texts)
        use_one_thread()
        nearest: list[TextExample | None] = []
        for start in range(0, len(texts), _AT_ONCE):
            part = [_comparable(text) for text in texts[start : start + _AT_ONCE]]
            likeness = (self._vectorizer.transform(part) @ self._vectors.T).toarray()
            nearest += [
                self._examples[best] if most >= _MIN_LIKENESS else None
                for best, most in zip(likeness.argmax(axis=1), likeness.max(axis=1), strict=True)
            ]
        return nearest


def _comparable(text: str) -> str:
    return plain(text[:MAX_READ_LENGTH])
