"""The words of a text, where they stand, and which of them carry meaning.

A word's offsets are those in the text as it was given, so that what is told of it is verbatim.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import regex
import snowballstemmer
import stop_words
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from surveys.ai.local.plain_words import LIGHT, MATTERS, NO_ANSWER, VAGUE

READ_LENGTH = 1_500  # characters of an answer: what it is about is said by then
ENGLISH = "en"

# Each is covered by as many bars, which are no part of any word: offsets stay and no phrase goes across.
# Every part is bounded: what looks like an address and is none costs no more than any other text.
_ADDRESS = (
    r"https?://\S++|www\.\S++|(?<![\w.+-])[\w.+-]{1,64}+@[\w.-]{3,250}+"
    r"|<[@#!&]{1,2}+\d{1,20}+>"  # somebody or a channel, as the chat platform writes them
)
_MARKUP = r"<a?:\w{1,32}+:\d{1,20}+>|</?[a-z][^<>]{0,300}+>|&[a-z0-9#]{2,8}+;|:\w{2,32}+:"
_HAS_ADDRESS = regex.compile(_ADDRESS, regex.IGNORECASE)
_NOISE = regex.compile(f"{_ADDRESS}|{_MARKUP}", regex.IGNORECASE)
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー々"  # written without spaces: each character is a word here
_WORD = regex.compile(
    rf"(?V1)[{_UNSPACED}]|[[\p{{L}}\p{{N}}]--[{_UNSPACED}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]*"
    rf"(?:['’‑-][[\p{{L}}\p{{N}}]--[{_UNSPACED}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]*)*"
)
_IS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_PUNCTUATION = ".,;:!?…¡¿\"'“”„‘’()[]{}*"
_ONLY_SPACE = regex.compile(r"\s*")
_ARTICLE = regex.compile(
    r"(?:[cdjlmnst]|qu|un|dell|nell|sull|dall|all)['’](?=\p{L}{3})", regex.IGNORECASE
)  # l'eau

_LONGEST_NO_ANSWER = 40  # characters
_PICTURE = regex.compile(r"\p{Extended_Pictographic}")


class Word(NamedTuple):
    """`follows` tells that only space stands between this word and the one before.

    A light word begins and ends no phrase; vague ones alone are none.
    """

    stem: str
    start: int
    end: int
    is_light: bool
    is_vague: bool
    follows: bool
    is_unspaced: bool


class Reader:
    """Takes texts apart as the language of a batch wants it. For one thread: a stemmer has a state."""

    def __init__(self, language: str | None) -> None:
        self.language = language
        self._stems: dict[str, str] = {}
        algorithm = _STEMMERS.get(language or ENGLISH)
        self._stem = snowballstemmer.stemmer(algorithm).stemWord if algorithm else str

    def words(self, text: str, *, language: str | None = None) -> list[Word]:
        """`language` is the text's own, where it is another than the batch's."""
        text = masked(text[:READ_LENGTH])
        light = _light_words(self.language, language)
        words: list[Word] = []
        end = 0
        for found in _WORD.finditer(text):
            start, written = found.start(), found[0]
            if article := _ARTICLE.match(written):
                start += article.end()
                written = written[article.end() :]
            follows = bool(words) and _ONLY_SPACE.fullmatch(text, end, found.start()) is not None
            end = found.end()
            word = folded(written)
            words.append(
                Word(
                    stem=self._stem_of(word),
                    start=start,
                    end=end,
                    is_light=_is_light(word, light),
                    is_vague=word in VAGUE,
                    follows=follows,
                    is_unspaced=_IS_UNSPACED.match(word) is not None,
                )
            )
        return words

    def _stem_of(self, word: str) -> str:
        stem = self._stems.get(word)
        if stem is None:
            stem = self._stems[word] = str(self._stem(word.removesuffix("'s")))
        return stem


def _is_light(word: str, light: frozenset[str]) -> bool:
    if word in light or word.isnumeric():
        return True
    if len(word) == 1:
        return _IS_UNSPACED.match(word) is None
    base, _, rest = word.partition("'")  # we've, isn't
    return bool(rest) and (base in light or word.endswith("n't"))


def masked(text: str) -> str:
    """With addresses, mark-up and mentions covered by signs that are no words. Of the same length."""
    return str(_NOISE.sub(lambda found: "|" * len(found[0]), text))


def has_address(text: str) -> bool:
    return _HAS_ADDRESS.search(text) is not None


def folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace("’", "'").replace("‑", "-")


def says_nothing(text: str) -> bool:
    """Whether an answer is a way of leaving the question out: `n/a`, `no idea`, `-`."""
    if len(text) > _LONGEST_NO_ANSWER:
        return False
    return all(word in NO_ANSWER for word in _WORD.findall(folded(masked(text)))) and not _PICTURE.search(
        text
    )


# --- Languages ------------------------------------------------------------------------------------


def language_of(text: str) -> str | None:
    """The language whose common words are the most; None where there is none or two are as likely."""
    votes = _votes(text)
    if not votes:
        return None
    (best, most), *others = votes.most_common(2)
    return None if others and others[0][1] == most else best


def most_common_language(languages: Iterable[str | None], *, locale: str | None) -> str | None:
    """What most texts are written in; what the locale says decides where the texts do not."""
    votes = Counter(language for language in languages if language)
    told = (locale or "").lower().partition("-")[0] or None
    if not votes:
        return told
    most = max(votes.values())
    likely = sorted(language for language, count in votes.items() if count == most)
    return told if told in likely else likely[0]


def _votes(text: str) -> Counter[str]:
    languages = _languages_by_word()
    votes = Counter[str]()
    for word in set(folded(text[:READ_LENGTH]).split()):
        votes.update(languages.get(word.strip(_PUNCTUATION), ()))
    return votes


@cache
def _languages_by_word() -> dict[str, tuple[str, ...]]:
    by_word: dict[str, tuple[str, ...]] = {}
    for language in _LANGUAGES:
        for word in _common_words(language):
            by_word[word] = (*by_word.get(word, ()), language)
    return by_word


@cache
def _light_words(*languages: str | None) -> frozenset[str]:
    common = (_common_words(language) for language in languages if language in _LANGUAGES)
    return (_common_words(ENGLISH) | LIGHT).union(*common) - VAGUE


@cache
def _common_words(language: str) -> frozenset[str]:
    if language == ENGLISH:  # that of stop-words has `group`, `room`, `website` and the like
        return frozenset(ENGLISH_STOP_WORDS) - MATTERS
    return frozenset(folded(word) for word in stop_words.get_stop_words(language))


# Those with a list of common words and a stemmer, and such as need no stemmer.
_STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "nl": "dutch",
    "nb": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
_LANGUAGES: Sequence[str] = (*_STEMMERS, "bg", "uk", "vi")
