"""Themes of a sample of answers: seeds that several answers mention, then clusters of the other answers.

The answers without a seed are clustered by Ward's method, into more clusters than themes. A cluster is
recognised by its typical phrases. Clusters with the same phrases are one theme, and clusters without typical
phrases are no theme.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from surveys.ai.local import embeddings
from surveys.ai.local.texts.answers import Answer
from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, fold, plain
from surveys.ai.local.texts.languages import ENGLISH, detect_languages, most_common_language
from surveys.ai.local.texts.matching import Fits, fit_seeds, fit_themes
from surveys.ai.local.texts.phrases import Phrase, PhraseSpellings, phrases_of
from surveys.ai.local.texts.seeds import LANGUAGES, all_seeds, seeds_of
from surveys.ai.local.texts.threads import use_one_thread
from surveys.ai.local.texts.tokens import Tokenizer
from surveys.ai.local.texts.word_lists import INSULTS
from surveys.ai.provider import MAX_THEME_TITLE, TextTheme
from surveys.ai.quotes import is_quotable

# A theme has at least this many answers, so that the words of one person never become a title.
_MIN_ANSWERS = 2
_MIN_SHARE = 0.015  # A seed needs this share of the answers. A seed cannot be a word without a subject.
_MIN_SHARE_OF_CLUSTER = 0.025
_MAX_SHARED = 0.6  # Two themes that share more than this part of their answers are one theme.
MIN_ANSWERS_TO_CLUSTER = 5
_ANSWERS_OF_CLUSTER = 3  # A cluster has this many answers on average.
# A phrase is typical of a cluster if this share of the answers with the phrase is in the cluster.
_MIN_TYPICAL = 0.5
_MIN_SIMILARITY = 0.45  # The meanings of two phrases in one cluster are at least this similar.
_MAX_PHRASES = 8  # A theme has at most this many phrases.
_MAX_SHARED_PHRASES = 20_000  # At most this many phrases are counted, which limits the memory.
_MAX_CANDIDATES = 200  # At most this many phrases are compared with each other and with all answers.
_MAX_QUOTED = 3  # A description quotes at most this many phrases.
_WEIGHT_OF_PROMPT_WORDS = 0.3  # Words of the question say little about the answers, so they weigh less.
# The weight of a phrase by its number of words: a phrase says more than a word.
_WEIGHTS = (1.0, 1.6, 1.8, 1.8)
# The weight of a phrase by its number of characters, in scripts without spaces.
_WEIGHTS_UNSPACED = (1.0, 1.0, 1.3, 1.6)
_DESCRIPTIONS = {
    "en": ("Answers that mention {}.", "or"),
    "de": ("Antworten, in denen {} vorkommt.", "oder"),
    "fr": ("Réponses qui mentionnent {}.", "ou"),
    "es": ("Respuestas que mencionan {}.", "o"),
    "pt": ("Respostas que mencionam {}.", "ou"),
}


def discover_themes(
    answers: Sequence[Answer], *, prompt: str, known: Sequence[TextTheme], limit: int, locale: str | None
) -> list[TextTheme]:
    """Name at most `limit` themes that several answers share and that the known themes do not cover.

    The largest themes come first.
    """
    spoken = [answer for answer in answers if answer.clauses]
    language = most_common_language(
        [*(answer.languages for answer in spoken), *detect_languages([prompt], prompt=prompt, locale=locale)],
        locale=locale,
    )
    fits = fit_seeds(spoken, prompt=prompt)
    candidates = _from_seeds(
        fits,
        language=language,
        least=_least(spoken, _MIN_SHARE),
        without=frozenset[str]().union(*(seeds_of(theme) for theme in known)),
    )
    covered = _answers_by_theme(spoken, [*known, *candidates], prompt=prompt)
    left = sorted(set(range(len(spoken))).difference(*covered))
    if len(left) >= MIN_ANSWERS_TO_CLUSTER:
        least = _least(spoken, _MIN_SHARE_OF_CLUSTER)
        candidates += _Clusters(spoken, left, prompt=prompt, language=language, least=least).themes()
    found = _answers_by_theme(spoken, [*known, *candidates], prompt=prompt)[len(known) :]
    largest_first = sorted(
        zip(candidates, found, strict=True),
        key=lambda pair: (-len(pair[1]), _is_broad(pair[0]), plain(pair[0].title)),
    )
    return _distinct(largest_first, taken={plain(theme.title) for theme in known})[:limit]


def _is_broad(theme: TextTheme) -> bool:
    """Return whether a theme says less than another theme with the same answers: `App and website` beside
    `Bugs`.
    """
    return any(all_seeds()[key].may_be_subject_of_question for key in seeds_of(theme))


def _answers_by_theme(
    answers: Sequence[Answer], themes: Sequence[TextTheme], *, prompt: str
) -> list[set[int]]:
    """The numbers of the answers that each theme gets."""
    found: list[set[int]] = [set() for _ in themes]
    for number, fits in enumerate(fit_themes(answers, themes, prompt=prompt)):
        for theme, _ in fits:
            found[theme].add(number)
    return found


def _least(answers: Sequence[Answer], share: float) -> int:
    return max(_MIN_ANSWERS, round(len(answers) * share))


def _distinct(candidates: Iterable[tuple[TextTheme, Set[int]]], *, taken: Collection[str]) -> list[TextTheme]:
    """Leave out themes with one answer, with a taken title, or with mostly the answers of a larger theme."""
    distinct: list[tuple[TextTheme, Set[int]]] = []
    titles = set(taken)
    for theme, answers in candidates:
        title = plain(theme.title)
        is_like = any(len(answers & other) > _MAX_SHARED * len(answers | other) for _, other in distinct)
        if len(answers) >= _MIN_ANSWERS and title not in titles and not is_like:
            titles.add(title)
            distinct.append((theme, answers))
    return [theme for theme, _ in distinct]


def _from_seeds(
    found: Sequence[Fits], *, language: str | None, least: int, without: Collection[str]
) -> list[TextTheme]:
    cues: dict[str, Counter[str]] = {}
    for fits in found:
        for fit in fits:
            cues.setdefault(fit.theme, Counter())[fit.cue] += 1
    spoken = language if language in LANGUAGES else "en"
    return [
        TextTheme(
            all_seeds()[key].titles[spoken],
            _description(_most_frequent(phrases), language=spoken),
            (all_seeds()[key].mark,),
        )
        for key, phrases in sorted(cues.items())
        if phrases.total() >= least and key not in without
    ]


def _most_frequent(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda text: (-counts[text], text))


def _description(phrases: Sequence[str], *, language: str | None) -> str:
    sentence, last = _DESCRIPTIONS.get(language or "", _DESCRIPTIONS["en"])
    quoted = [f"“{phrase}”" for phrase in phrases[:_MAX_QUOTED]]
    return sentence.format(quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {last} {quoted[-1]}")


class _Clusters:
    """Clusters of the answers without a seed, and the phrases that several of these answers share.

    A set of answers is a number whose bits are the places in `left`. A small answer can contain thousands of
    phrases, and a Python set for each phrase would take gigabytes.
    """

    def __init__(
        self, answers: Sequence[Answer], left: Sequence[int], *, prompt: str, language: str | None, least: int
    ) -> None:
        self._answers = [answers[number] for number in left]
        self._language = language
        self._least = least
        self._tokenizer = Tokenizer(language)
        self._prompt_stems = frozenset(word.stem for word in self._tokenizer.words(prompt))
        self._spellings = PhraseSpellings(capitalises_nouns=language == "de")
        self._answers_with: dict[str, int] = {}
        shared = self._shared_hashes()
        for number, answer in enumerate(self._answers):
            for phrase in self._phrases_of(answer):
                if hash(phrase.key) in shared:
                    self._answers_with[phrase.key] = self._answers_with.get(phrase.key, 0) | 1 << number
                    self._spellings.add(phrase, answer.text)

    def themes(self) -> list[TextTheme]:
        """Return a theme for each set of phrases that belong together and are typical of one cluster."""
        clusters = self._clusters()
        groups: list[tuple[int, list[str]]] = []
        for key in self._phrases():
            numbers = self._answers_with[key]
            inside = [(numbers & cluster).bit_count() for cluster in clusters]
            home = inside.index(max(inside)) if max(inside) >= _MIN_TYPICAL * numbers.bit_count() else -1
            group = next(
                (keys for other, keys in groups if home == other >= 0 and self._are_near(keys[0], key)), None
            )
            if group is None:
                groups.append((home, [key]))
            else:
                group.append(key)
        return [self._theme(keys[:_MAX_PHRASES]) for _, keys in groups]

    def _phrases_of(self, answer: Answer) -> Iterator[Phrase]:
        return phrases_of(self._tokenizer.words(answer.text, language=answer.language))

    def _shared_hashes(self) -> Set[int]:
        """Return the hashes of the phrases that enough answers share. Of too many phrases only the more
        frequent remain.

        Collects hashes instead of phrases, because most phrases of long answers occur in one answer only.
        """
        hashes, counts = np.unique(
            np.concatenate(
                [
                    np.array(list({hash(phrase.key) for phrase in self._phrases_of(answer)}), np.int64)
                    for answer in self._answers
                ]
            ),
            return_counts=True,
        )
        most_frequent = np.sort(counts)[::-1]
        least = max(self._least, 1 + int(most_frequent[_MAX_SHARED_PHRASES:][:1].sum()))
        return frozenset(hashes[counts >= least].tolist())

    def _are_near(self, key: str, other: str) -> bool:
        """Whether two phrases occur together, or mean nearly the same."""
        if self._answers_with[key] & self._answers_with[other]:
            return True
        if self._language != ENGLISH or not embeddings.are_available():
            return False
        one, two = embeddings.embed([self._spellings.most_frequent(each).casefold() for each in (key, other)])
        return float(one @ two) >= _MIN_SIMILARITY

    def _phrases(self) -> list[str]:
        """Phrases of several answers that can name a theme, the best first."""
        shared = (key for key, numbers in self._answers_with.items() if numbers.bit_count() >= self._least)
        best_first = sorted(shared, key=lambda key: (-self._weight(key), key))
        return list(islice(filter(self._may_be_subject, best_first), _MAX_CANDIDATES))

    def _clusters(self) -> list[int]:
        # These take more than a second to load.
        from scipy.cluster.hierarchy import cut_tree, ward  # noqa: PLC0415
        from scipy.spatial.distance import squareform  # noqa: PLC0415

        use_one_thread()
        likeness = _likeness([answer.text[:MAX_READ_LENGTH] for answer in self._answers])
        sizes = np.diagonal(likeness)
        distances = np.sqrt(np.maximum(sizes[:, None] + sizes - 2 * likeness, 0))
        count = max(2, len(self._answers) // _ANSWERS_OF_CLUSTER)
        labels = cut_tree(ward(squareform(distances, checks=False)), count).ravel().tolist()
        clusters = [0] * count
        for number, label in enumerate(labels):
            clusters[label] |= 1 << number
        return clusters

    def _may_be_subject(self, key: str) -> bool:
        """Return whether a phrase may name a theme. A single German word must be a noun, which begins with a
        capital letter.
        """
        if not is_nameable(self._spellings.most_frequent(key)):
            return False
        return self._language != "de" or " " in key or self._spellings.most_frequent(key)[0].isupper()

    def _weight(self, key: str) -> float:
        words = key.split(" ")
        weights = _WEIGHTS_UNSPACED if all(len(word) == 1 for word in words) else _WEIGHTS
        share_of_prompt = sum(1 for word in words if word in self._prompt_stems) / len(words)
        weight = weights[min(len(words), len(weights)) - 1]
        weight *= 1 - (1 - _WEIGHT_OF_PROMPT_WORDS) * share_of_prompt
        return self._answers_with[key].bit_count() * weight

    def _theme(self, keys: Sequence[str]) -> TextTheme:
        """Return a theme. Its title is the heaviest phrase, or a longer phrase that half as many answers
        contain.
        """
        phrases = tuple(self._spellings.most_frequent(key) for key in keys)
        enough = self._answers_with[keys[0]].bit_count() / 2
        title = next(
            (key for key in keys if " " in key and self._answers_with[key].bit_count() >= enough), keys[0]
        )
        return TextTheme(
            self._spellings.title(title), _description(phrases, language=self._language), phrases
        )


def is_nameable(phrase: str) -> bool:
    """Return whether a phrase can name a theme: the phrase is no insult, and contains no name, address or
    number.
    """
    words = fold(phrase).split()
    return (
        len(phrase) <= MAX_THEME_TITLE and is_quotable(phrase) and not any(word in INSULTS for word in words)
    )


def _likeness(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return how alike texts are: by their meanings if the extra `embeddings` is installed, else by their
    characters.

    Every n-gram of characters is a dimension, so the vectors remain sparse.
    """
    if embeddings.are_available():
        vectors = embeddings.embed([text.casefold() for text in texts]).astype(np.float64)
        return np.asarray(vectors @ vectors.T)
    # These take more than a second to load.
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer  # noqa: PLC0415

    counts = HashingVectorizer(
        analyzer="char_wb", ngram_range=(4, 6), lowercase=False, norm=None, alternate_sign=False
    ).transform([plain(text) or " " for text in texts])
    weights = TfidfTransformer().fit_transform(counts)
    return np.asarray((weights @ weights.T).toarray())
