"""The words of an answer, with their positions and stems, and which of them carry meaning.

Offsets refer to the answer as it was given, so that a quote can be copied verbatim.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import regex

from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, fold, mask_noise
from surveys.ai.local.texts.languages import light_words, stemmer_for
from surveys.ai.local.texts.word_lists import NO_ANSWER, VAGUE

# Scripts that are written without spaces: each character counts as a word.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー々"
_WORD = regex.compile(
    rf"(?V1)[{_UNSPACED}]|[[\p{{L}}\p{{N}}]--[{_UNSPACED}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]*"
    rf"(?:['’‑-][[\p{{L}}\p{{N}}]--[{_UNSPACED}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]*)*"
)
_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_ONLY_SPACE = regex.compile(r"\s*")
_ARTICLE = regex.compile(  # An article is short and has an apostrophe, as in `l'eau`.
    r"(?:[cdjlmnst]|qu|un|dell|nell|sull|dall|all)['’](?=\p{L}{3})", regex.IGNORECASE
)
_MAX_NO_ANSWER = 40  # An answer that skips the question has at most this many characters.
_PICTOGRAPH = regex.compile(r"\p{Extended_Pictographic}")


class Word(NamedTuple):
    """A word of an answer, from `start` to `end`.

    A light word carries no meaning and cannot begin or end a phrase. A vague word carries some meaning, but
    not enough for a phrase of its own. `follows` is True if only space separates the word from the one
    before. `is_unspaced` marks a character of a script without spaces.
    """

    stem: str
    start: int
    end: int
    is_light: bool
    is_vague: bool
    follows: bool
    is_unspaced: bool


class Tokenizer:
    """Splits answers into words by the rules of one language. Use each instance in one thread only."""

    def __init__(self, language: str | None) -> None:
        self.language = language
        stem = stemmer_for(language)
        self._stem = cache(lambda word: str(stem(word.removesuffix("'s"))))

    def words(self, text: str, *, language: str | None = None) -> list[Word]:
        """Return the words of a text. `language` is the language of the text, if the tokenizer has another
        one.
        """
        text = mask_noise(text[:MAX_READ_LENGTH])
        light = light_words(self.language, language)
        words: list[Word] = []
        end = 0
        for match in _WORD.finditer(text):
            start, spelling = match.start(), match[0]
            if article := _ARTICLE.match(spelling):
                start += article.end()
                spelling = spelling[article.end() :]
            follows = bool(words) and _ONLY_SPACE.fullmatch(text, end, match.start()) is not None
            end = match.end()
            word = fold(spelling)
            words.append(
                Word(
                    stem=self._stem(word),
                    start=start,
                    end=end,
                    is_light=_is_light(word, light),
                    is_vague=word in VAGUE,
                    follows=follows,
                    is_unspaced=_IS_UNSPACED.match(word) is not None,
                )
            )
        return words


def _is_light(word: str, light: frozenset[str]) -> bool:
    if word in light or word.isnumeric():
        return True
    if len(word) == 1:
        return _IS_UNSPACED.match(word) is None
    base, _, suffix = word.partition("'")  # Examples are `we've` and `isn't`.
    return bool(suffix) and (base in light or word.endswith("n't"))


def is_no_answer(text: str) -> bool:
    """Whether somebody skipped the question in words: `n/a`, `no idea`, `-`."""
    if len(text) > _MAX_NO_ANSWER or _PICTOGRAPH.search(text):
        return False
    return all(word in NO_ANSWER for word in _WORD.findall(fold(mask_noise(text))))
