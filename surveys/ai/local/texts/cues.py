"""Matching of short phrases, called cues, with clauses of answers.

A clause matches a cue if it contains most of its character n-grams. So inflected words, words with a typo,
and the words of a phrase in another order match too. Rare n-grams weigh more than frequent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import regex

from surveys.ai.local.texts.cleaning import plain
from surveys.ai.local.texts.threads import use_one_thread

_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー々]")
_MIN_SHARE = 0.8  # A clause must contain this share of a cue's n-grams, by weight.
_MIN_WORDS = 0.6  # A clause must contain this share of a cue's words.
_MIN_OWN = 0.5  # A cue must have this share of its n-grams, by weight, that no longer cue has matched.
_CLAUSES_AT_ONCE = 256  # This number limits the memory of a comparison.


class Cue(NamedTuple):
    """A phrase that is typical of a theme. `theme` is the theme's key. `language` is None for a phrase of any
    language.
    """

    theme: str
    phrase: str
    language: str | None = None


class Match(NamedTuple):
    """A cue that a clause matches, the share of the cue's n-grams in the clause, and their weight."""

    cue: Cue
    share: float
    weight: float


class CueIndex:
    """Cues, prepared for comparison with many clauses. Instances do not change, and can be shared."""

    def __init__(self, cues: Sequence[Cue]) -> None:
        # These take more than a second to load.
        from scipy.sparse import csr_matrix, diags_array  # noqa: PLC0415
        from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

        self.cues = list(cues)
        self._vectorizer = CountVectorizer(
            analyzer="char_wb", ngram_range=(3, 5), binary=True, lowercase=False, dtype=np.float32
        )
        grams = self._vectorizer.fit_transform([_comparable(cue.phrase) for cue in self.cues])
        numbers = {theme: number for number, theme in enumerate(dict.fromkeys(cue.theme for cue in cues))}
        of_theme = csr_matrix(
            (
                np.ones(len(self.cues), np.float32),
                ([numbers[cue.theme] for cue in self.cues], range(len(self.cues))),
            )
        )
        themes_with = np.asarray(((of_theme @ grams) > 0).sum(axis=0)).ravel()
        weights = np.log((1 + len(numbers)) / themes_with).astype(np.float32) + np.float32(1e-3)
        weighted = grams @ diags_array(weights)
        self._weights = np.asarray(weighted.sum(axis=1)).ravel()
        self._shares = (diags_array(1 / self._weights) @ weighted).tocsr()
        self._words = [_comparable(cue.phrase).split() for cue in self.cues]
        self._by_gram = self._shares.T.tocsr()

    def matches(
        self, clauses: Sequence[str], is_allowed: Callable[[int, Cue], bool]
    ) -> Iterator[tuple[int, list[Match]]]:
        """Yield, for each clause with matches, its number and its matches: one match for each theme, the
        heaviest first.

        `is_allowed` decides for the number of a clause and a cue whether the cue may match. A cue is left out
        if a heavier match has most of its n-grams, such as `fast` beside `too fast`.
        """
        use_one_thread()
        for start in range(0, len(clauses), _CLAUSES_AT_ONCE):
            texts = [_comparable(text) for text in clauses[start : start + _CLAUSES_AT_ONCE]]
            grams = self._vectorizer.transform(texts)
            shares = (grams @ self._by_gram).tocoo()
            is_enough = shares.data >= _MIN_SHARE
            by_clause: dict[int, list[tuple[float, int, float]]] = {}
            for row, cue, share in zip(
                shares.row[is_enough], shares.col[is_enough], shares.data[is_enough], strict=True
            ):
                if _has_words(texts[row], self._words[cue]) and is_allowed(start + int(row), self.cues[cue]):
                    weight = float(share * self._weights[cue])
                    by_clause.setdefault(int(row), []).append((-weight, int(cue), float(share)))
            for row, candidates in sorted(by_clause.items()):
                yield start + row, self._without_parts(grams, row, sorted(candidates))

    def _without_parts(
        self, grams: Any, row: int, candidates: Sequence[tuple[float, int, float]]
    ) -> list[Match]:
        present = frozenset(grams.indices[grams.indptr[row] : grams.indptr[row + 1]].tolist())
        taken: set[int] = set()
        matches: dict[str, Match] = {}
        for negative_weight, number, share in candidates:
            cue = self.cues[number]
            place = slice(self._shares.indptr[number], self._shares.indptr[number + 1])
            own = [
                (gram, part)
                for gram, part in zip(
                    self._shares.indices[place].tolist(), self._shares.data[place].tolist(), strict=True
                )
                if gram in present
            ]
            is_new = sum(part for gram, part in own if gram not in taken) >= _MIN_OWN
            if is_new:
                matches.setdefault(cue.theme, Match(cue, share, -negative_weight))
            if is_new or cue.theme in matches:
                taken.update(gram for gram, _ in own)
        return list(matches.values())


def _comparable(text: str) -> str:
    """A text in small letters without accents, and with spaces in scripts that have none."""
    return _UNSPACED.sub(r" \g<0> ", plain(text))


def _has_words(text: str, words: Sequence[str]) -> bool:
    """Whether a text has most words of a cue, or other forms of them: `no time` needs more than `time`."""
    if len(words) < 2:
        return True
    own = text.split()
    present = sum(
        word in own if len(word) < 4 else any(each.startswith(word[: max(3, len(word) - 2)]) for each in own)
        for word in words
    )
    return present >= _MIN_WORDS * len(words)
