"""Phrases that may name a theme: one to three words of an answer that carry meaning together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from surveys.ai.local.texts.cleaning import fold
from surveys.ai.local.texts.tokens import Word
from surveys.ai.local.texts.word_lists import LINKS

_MAX_WORDS = 3
# A phrase in a script without spaces has at most this many characters; two characters often make a word.
_MAX_CHARACTERS = 4
_KANA = frozenset(map(chr, range(0x3040, 0x30A0)))  # Kana are mostly endings and particles.
_PARTICLES = frozenset("がはをにでのともへや")


class Phrase(NamedTuple):
    """A phrase of an answer, from `start` to `end`.

    `key` is the stems of the phrase, separated by spaces. `is_opening` is True for the first phrase of a
    sentence or answer.
    """

    key: str
    start: int
    end: int
    is_opening: bool


def phrases_of(words: Sequence[Word]) -> Iterator[Phrase]:
    """Yield every phrase of an answer, once for each occurrence."""
    for first, word in enumerate(words):
        if not _can_end_phrase(word):
            continue
        for last in range(first, min(first + _max_length(word), len(words))):
            if last > first and not _continues_phrase(words, last):
                break
            if _can_end_phrase(words[last]) and _has_meaning(words[first : last + 1]):
                key = " ".join(part.stem for part in words[first : last + 1])
                yield Phrase(key, word.start, words[last].end, not word.follows)


def _max_length(word: Word) -> int:
    return _MAX_CHARACTERS if word.is_unspaced else _MAX_WORDS


def _continues_phrase(words: Sequence[Word], last: int) -> bool:
    word, previous = words[last], words[last - 1]
    if not word.follows or word.is_unspaced != previous.is_unspaced:
        return False
    if word.is_unspaced:
        return word.stem not in _PARTICLES
    return not word.is_light or word.stem in LINKS


def _can_end_phrase(word: Word) -> bool:
    """Whether a phrase may begin or end with the word."""
    if word.is_unspaced:
        return not _KANA.issuperset(word.stem)
    return not word.is_light


def _has_meaning(words: Sequence[Word]) -> bool:
    if words[0].is_unspaced:
        return len(words) > 1
    return not all(word.is_light or word.is_vague for word in words)


class PhraseSpellings:
    """Counts the spellings of phrases, in order to show each phrase in its most frequent spelling."""

    def __init__(self, *, capitalises_nouns: bool) -> None:
        self._capitalises_nouns = capitalises_nouns
        self._inside: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._opening: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, phrase: Phrase, text: str) -> None:
        """Count one occurrence of a phrase in a text."""
        spelling = " ".join(text[phrase.start : phrase.end].split())
        if not phrase.is_opening:
            self._inside[phrase.key][spelling] += 1
            return
        # A sentence begins with a capital letter, which says nothing about the word itself.
        is_sentence_case = spelling[:1].isupper() and spelling[1:] == spelling[1:].lower()
        if is_sentence_case and not self._capitalises_nouns:
            spelling = spelling.lower()
        self._opening[phrase.key][spelling] += 1

    def most_frequent(self, key: str) -> str:
        """Return the most frequent spelling of a phrase, preferring those from inside a sentence."""
        inside, opening = self._inside[key], self._opening[key]
        totals = Counter[str]()
        for spelling, count in (*inside.items(), *opening.items()):
            totals[fold(spelling)] += count
        best = _most_frequent(totals)
        for spellings in (inside, opening):
            if same := {text: count for text, count in spellings.items() if fold(text) == best}:
                return _most_frequent(same)
        raise KeyError(key)

    def title(self, key: str) -> str:
        """Return the most frequent spelling, with a capital letter at its beginning."""
        spelling = self.most_frequent(key)
        first, _, _ = spelling.partition(" ")
        return spelling if first != first.lower() else spelling[:1].upper() + spelling[1:]


def _most_frequent(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda text: (-counts[text], text))
