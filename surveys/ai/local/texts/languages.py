"""Languages of answers: detection, words to ignore, and stemmers."""

# Libraries that detect languages offline, as compared in November 2026 on 950 short texts in five languages:
#   py3langid 0.4.0   September 2026, BSD, needs numpy alone; 4.5 MB, 90 MB in memory, 25 µs a text; of texts
#                     in our languages alone, 94 % right
#   lingua 2.1.1      2025, Apache 2.0; 96 MB, 540 MB in memory, 800 µs a text; 93 % right, and 81 % in its
#                     mode for little memory
# Counting common words, as we did before, was right for 52 %.

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import regex
import snowballstemmer
import stop_words
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, fold
from surveys.ai.local.texts.word_lists import LIGHT, SUBJECTS, VAGUE

ENGLISH = "en"
_MIN_PROBABILITY = 0.4  # With a lower probability, the language of a text counts as unknown.
_WEIGHT_OF_PROMPT = 3  # The question weighs as much as this many answers.
_WEIGHT_OF_LOCALE = 2
_DOUBT = 0.05  # Every language is possible: each gets the weight of this part of an answer.
_LETTER = regex.compile(r"\p{L}")
_identifying = threading.Lock()

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
_WITH_COMMON_WORDS = frozenset((*_STEMMERS, "bg", "uk", "vi"))
_DETECTED = (*sorted(_WITH_COMMON_WORDS), "fa", "he", "ja", "ko", "th", "zh")
_NORWEGIAN = {"no": "nb", "nb": "no"}  # The codes of the library and of this application, in both directions.


Languages = Mapping[str, float]  # The probability of each language.


def detect_languages(texts: Sequence[str], *, prompt: str, locale: str | None) -> list[Languages]:
    """Return the probable languages of each text; no language for a text without letters.

    A short text can be of several languages. The languages of the other texts, of the question and of the
    locale are then more probable.
    """
    alone = [_probabilities(text) for text in texts]
    expected = dict.fromkeys(_DETECTED, _DOUBT)
    for probabilities, weight in (
        *((each, 1) for each in alone),
        (_probabilities(prompt), _WEIGHT_OF_PROMPT),
    ):
        for language, probability in probabilities.items():
            expected[language] += weight * probability
    language_of_locale = (locale or "").lower().partition("-")[0]
    if language_of_locale in expected:
        expected[language_of_locale] += _WEIGHT_OF_LOCALE
    return [_scaled({name: each[name] * expected[name] for name in each}) for each in alone]


def most_probable(languages: Languages) -> str | None:
    """The language of a text; None if it is not clear."""
    best = max(languages, key=lambda name: languages[name], default=None)
    return best if best and languages[best] >= _MIN_PROBABILITY else None


def most_common_language(languages: Sequence[Languages], *, locale: str | None) -> str | None:
    """Return the language of most texts; the language of the locale if no text has letters."""
    totals = Counter[str]()
    for each in languages:
        totals.update(each)
    if not totals:
        return (locale or "").lower().partition("-")[0] or None
    return max(totals, key=lambda name: (totals[name], name))


def _probabilities(text: str) -> dict[str, float]:
    if not _LETTER.search(text):
        return {}
    with _identifying:
        identifier = _identifier()
    ranked = identifier.rank(text[:MAX_READ_LENGTH])
    return {_NORWEGIAN.get(name, name): float(probability) for name, probability in ranked}


def _scaled(weights: dict[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


@cache
def _identifier() -> LanguageIdentifier:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([_NORWEGIAN.get(name, name) for name in _DETECTED])
    return identifier


def stemmer_for(language: str | None) -> Callable[[str], str]:
    """A function that reduces a word to its stem; English by default.

    A stemmer keeps state: use each one in one thread only.
    """
    algorithm = _STEMMERS.get(language or ENGLISH)
    return snowballstemmer.stemmer(algorithm).stemWord if algorithm else str


@cache
def light_words(*languages: str | None) -> frozenset[str]:
    """Words of these languages, and of English, that carry no meaning of their own."""
    common = (_common_words(language) for language in languages if language in _WITH_COMMON_WORDS)
    return (_common_words(ENGLISH) | LIGHT).union(*common) - VAGUE


@cache
def _common_words(language: str) -> frozenset[str]:
    # The English list of `stop_words` contains `group`, `room`, `website` and other nouns.
    if language == ENGLISH:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # noqa: PLC0415 - takes seconds to load

        return frozenset(ENGLISH_STOP_WORDS) - SUBJECTS
    return frozenset(fold(word) for word in stop_words.get_stop_words(language))
