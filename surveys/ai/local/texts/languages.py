"""Languages of answers: detection, words to ignore, and stemmers."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import snowballstemmer
import stop_words

from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, fold
from surveys.ai.local.texts.word_lists import LIGHT, SUBJECTS, VAGUE

ENGLISH = "en"
_PUNCTUATION = ".,;:!?…¡¿\"'“”„‘’()[]{}*"

# Languages with both a list of common words and a stemmer.
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
_LANGUAGES: Sequence[str] = (*_STEMMERS, "bg", "uk", "vi")  # the last three have common words only


def language_of(text: str) -> str | None:
    """The language with the most common words in a text; None if there are none, or on a tie."""
    votes = _votes(text)
    if not votes:
        return None
    (best, most), *others = votes.most_common(2)
    return None if others and others[0][1] == most else best


def is_english(text: str, *, others: str | None) -> bool:
    """Whether a text is probably English. `others` is the language of the answers beside it.

    Its common words decide; without any, and where they are as common in another language, `others` does. Its
    letters must be Latin too, because languages such as Japanese have no list of common words. A text without
    letters, such as an emoji, is of every language.
    """
    letters = [sign for sign in text[:MAX_READ_LENGTH] if sign.isalpha()]
    if not letters:
        return True
    latin = sum(unicodedata.name(sign, "").startswith(("LATIN", "FULLWIDTH LATIN")) for sign in letters)
    if 2 * latin <= len(letters):
        return False
    votes = _votes(text)
    likely = {language for language, count in votes.items() if count == max(votes.values())}
    if likely == {ENGLISH}:
        return True
    return (not likely or ENGLISH in likely) and (others or ENGLISH) == ENGLISH


def most_common_language(languages: Iterable[str | None], *, locale: str | None) -> str | None:
    """The language of most texts. The language of the locale breaks ties, and decides if no text does."""
    votes = Counter(language for language in languages if language)
    language_of_locale = (locale or "").lower().partition("-")[0] or None
    if not votes:
        return language_of_locale
    most = max(votes.values())
    likely = sorted(language for language, count in votes.items() if count == most)
    return language_of_locale if language_of_locale in likely else likely[0]


def stemmer_for(language: str | None) -> Callable[[str], str]:
    """A function that reduces a word to its stem; English by default.

    A stemmer keeps state: use each one in one thread only.
    """
    algorithm = _STEMMERS.get(language or ENGLISH)
    return snowballstemmer.stemmer(algorithm).stemWord if algorithm else str


@cache
def light_words(*languages: str | None) -> frozenset[str]:
    """Words of these languages, and of English, that carry no meaning of their own."""
    common = (_common_words(language) for language in languages if language in _LANGUAGES)
    return (_common_words(ENGLISH) | LIGHT).union(*common) - VAGUE


def _votes(text: str) -> Counter[str]:
    languages = _languages_by_word()
    votes = Counter[str]()
    for word in set(fold(text[:MAX_READ_LENGTH]).split()):
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
def _common_words(language: str) -> frozenset[str]:
    if language == ENGLISH:  # the English list of `stop_words` contains `group`, `room`, `website` and so on
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: PLC0415 - takes seconds to load

        return frozenset(ENGLISH_STOP_WORDS) - SUBJECTS
    return frozenset(fold(word) for word in stop_words.get_stop_words(language))
