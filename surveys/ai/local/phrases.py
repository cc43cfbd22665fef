"""Phrases that may name a theme: one to three words of a text that carry meaning together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from surveys.ai.local.plain_words import LINKS
from surveys.ai.local.tokens import Word, folded

TITLE_LENGTH = 80  # characters
_MOST_WORDS = 3
_MOST_SIGNS = 4  # of a script without spaces, where two make a word
_KANA = range(0x3040, 0x30A0)  # endings and particles
_PARTICLES = frozenset("がはをにでのともへや")


class Phrase(NamedTuple):
    key: str  # its stems
    start: int
    end: int
    opens: bool  # the first of a sentence or of the text


def phrases(words: Sequence[Word]) -> Iterator[Phrase]:
    """Every phrase of a text, as often as it stands there."""
    for first, word in enumerate(words):
        if not _can_end(word):
            continue
        for last in range(first, min(first + _length(word), len(words))):
            if last > first and not _continues(words, first, last):
                break
            if _can_end(words[last]) and _says_something(words[first : last + 1]):
                key = " ".join(part.stem for part in words[first : last + 1])
                yield Phrase(key, word.start, words[last].end, not word.follows)


def _length(word: Word) -> int:
    return _MOST_SIGNS if word.is_unspaced else _MOST_WORDS


def _continues(words: Sequence[Word], first: int, last: int) -> bool:
    word, before = words[last], words[last - 1]
    if not word.follows or word.is_unspaced != before.is_unspaced:
        return False
    if word.is_unspaced:
        return word.stem not in _PARTICLES
    return not word.is_light or word.stem in LINKS


def _can_end(word: Word) -> bool:
    """Whether a phrase may begin or end with it."""
    if word.is_unspaced:
        return not all(ord(sign) in _KANA for sign in word.stem)
    return not word.is_light


def _says_something(words: Sequence[Word]) -> bool:
    if words[0].is_unspaced:
        return len(words) > 1
    return not all(word.is_light or word.is_vague for word in words)


class WrittenForms:
    """How phrases were written, to tell each in the form that most answers have."""

    def __init__(self, *, nouns_are_capitalised: bool) -> None:
        self._nouns_are_capitalised = nouns_are_capitalised
        self._inside: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._opening: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def note(self, phrase: Phrase, text: str) -> None:
        written = " ".join(text[phrase.start : phrase.end].split())
        if not phrase.opens:
            self._inside[phrase.key][written] += 1
            return
        # The capital of a sentence's first word is none of its own, as far as that can be known.
        is_sentence_case = written[:1].isupper() and written[1:] == written[1:].lower()
        if is_sentence_case and not self._nouns_are_capitalised:
            written = written.lower()
        self._opening[phrase.key][written] += 1

    def told(self, key: str) -> str:
        inside, opening = self._inside[key], self._opening[key]
        spellings = Counter[str]()
        for form, count in (*inside.items(), *opening.items()):
            spellings[folded(form)] += count
        wanted = _most(spellings)
        for forms in (inside, opening):
            if same := {form: count for form, count in forms.items() if folded(form) == wanted}:
                return _most(same)
        raise KeyError(key)

    def title(self, key: str) -> str:
        told = self.told(key)
        first, _, _ = told.partition(" ")
        return told if first != first.lower() else told[:1].upper() + told[1:]


def _most(counts: Mapping[str, int]) -> str:
    return min(counts, key=lambda form: (-counts[form], form))
