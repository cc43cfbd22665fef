"""Which answers belong to which themes.

A theme refers to seeds of the seed codebook, or is recognised by its own phrases: stored phrases, its title,
and the phrases that its description quotes. A theme of staff or of another provider without such phrases is
recognised by words of its title and description. Every seed is compared with each answer, even if the
codebook lacks the seed, so the other themes of the codebook never change whether an answer gets a theme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache

import regex

from surveys.ai.local import embeddings
from surveys.ai.local.texts.answers import Answer, Span
from surveys.ai.local.texts.cleaning import plain
from surveys.ai.local.texts.cues import Cue, CueIndex
from surveys.ai.local.texts.languages import ENGLISH
from surveys.ai.local.texts.seeds import LANGUAGES, all_seeds, is_mark, seed_index, seeds_of
from surveys.ai.local.texts.tokens import Tokenizer
from surveys.ai.provider import TextTheme

MAX_THEMES_OF_ANSWER = 3
_MAX_WORDS_REPEATED = 2  # A cue that the question contains matches only clauses of at most this many words.
# A phrase matches only answers that are in its language with at least this probability.
_MIN_PROBABILITY = 0.05
_OWN_PHRASES = frozenset(LANGUAGES) - {ENGLISH}
_MIN_SIMILARITY = 0.62  # The similarity of meanings that an answer without a matching cue needs.
_AT_ONCE = 512  # This number limits the memory of a comparison.
_WORD = regex.compile(r"[\w'’]+")
_QUOTED = regex.compile(r"“([^“”]+)”")


@dataclass(frozen=True, slots=True)
class Fit:
    """A theme that an answer belongs to, how clearly the answer belongs to it, and the clause that shows
    this.
    """

    theme: str
    weight: float
    clause: Span
    cue: str = ""

    def place_in(self, answer: Answer) -> Span:
        """Where the answer mentions the theme: the longest word of the cue, else the whole clause."""
        start, end = self.clause
        for word in sorted(plain(self.cue).split(), key=lambda word: -len(word)):
            for match in _WORD.finditer(answer.text, start, end):
                if _beginning(word) in plain(match[0]):
                    return match.span()
        return self.clause


Fits = list[Fit]  # The themes of one answer, the clearest first, each theme once.


def fit_seeds(answers: Sequence[Answer], *, prompt: str) -> list[Fits]:
    """Return the seeds of each answer by their keys.

    Words of the question say little about an answer, unless the answer has no other words.
    """
    asked = _cues_in(prompt)
    left_out = {cue.theme for cue in asked if all_seeds()[cue.theme].may_be_subject_of_question}
    found = _fit(answers, seed_index(), asked=asked)
    return [[fit for fit in fits if fit.theme not in left_out] for fits in found]


def _cues_in(prompt: str) -> frozenset[Cue]:
    """Return the cues whose words all occur in the question, in any form."""
    words = _WORD.findall(plain(prompt))
    beginnings = {word[:length] for word in words for length in range(1, len(word) + 1)}
    return frozenset(cue for cue, words in _words_of_cues() if beginnings.issuperset(words))


@cache
def _words_of_cues() -> Sequence[tuple[Cue, Sequence[str]]]:
    """All cues of seeds, with the beginnings of their words."""
    return [(cue, [_beginning(word) for word in plain(cue.phrase).split()]) for cue in seed_index().cues]


def _beginning(word: str) -> str:
    """Return the letters with which all forms of a word begin."""
    return word[: max(3, len(word) - 2)]


def fit_themes(
    answers: Sequence[Answer], themes: Sequence[TextTheme], *, prompt: str
) -> list[list[tuple[int, Fit]]]:
    """The themes that each answer belongs to, by index, the clearest first."""
    recognised = [_Recognised.of(number, theme) for number, theme in enumerate(themes)]
    by_seed = _by_seed(recognised)
    by_seeds = fit_seeds(answers, prompt=prompt)
    found: list[dict[int, Fit]] = [{} for _ in answers]
    for fits, seeds in zip(found, by_seeds, strict=True):
        for fit in seeds:
            for number in by_seed.get(fit.theme, ()):
                _keep_clearer(fits, number, fit)
    if cues := [cue for each in recognised for cue in each.cues]:
        for fits, own in zip(found, _fit(answers, CueIndex(cues)), strict=True):
            for fit in own:
                _keep_clearer(fits, int(fit.theme), fit)
    _add_loose(found, answers, recognised)
    # An answer with a seed has the seed's subject, even if the codebook lacks the seed.
    unfit = [number for number, fits in enumerate(found) if not fits and not by_seeds[number]]
    _add_similar(found, answers, recognised, unfit=unfit)
    return [
        sorted(fits.items(), key=lambda item: (-item[1].weight, item[0]))[:MAX_THEMES_OF_ANSWER]
        for fits in found
    ]


@dataclass(frozen=True, slots=True)
class _Recognised:
    """A theme, with every phrase and word by which it is recognised.

    `loose_words` are only for themes that have nothing but a title and a description.
    """

    number: int
    seeds: frozenset[str]
    cues: Sequence[Cue]
    title_words: frozenset[str]
    loose_words: frozenset[str]

    @classmethod
    def of(cls, number: int, theme: TextTheme) -> _Recognised:
        seeds = seeds_of(theme)
        words = _words(theme.title)
        own = [phrase for phrase in theme.phrases if not is_mark(phrase)]
        quoted = [] if seeds or own else _QUOTED.findall(theme.description)
        described = _words(theme.description) if not (seeds or own or quoted) else frozenset()
        names = [theme.title] if words and not seeds else []
        return cls(
            number=number,
            seeds=seeds,
            cues=[
                Cue(str(number), phrase)
                for phrase in dict.fromkeys([*names, *own, *quoted])
                if plain(phrase).strip()
            ],
            title_words=words,
            loose_words=(words | described) if described else frozenset(),
        )


def _words(text: str) -> frozenset[str]:
    """The stems of the words that have a meaning of their own."""
    return frozenset(
        word.stem for word in Tokenizer(ENGLISH).words(text) if not (word.is_light or word.is_vague)
    )


def _by_seed(recognised: Sequence[_Recognised]) -> Mapping[str, Sequence[int]]:
    themes: dict[str, list[int]] = {}
    for each in recognised:
        for seed in each.seeds:
            themes.setdefault(seed, []).append(each.number)
    return themes


def _keep_clearer(fits: dict[int, Fit], number: int, fit: Fit) -> None:
    if number not in fits or fits[number].weight < fit.weight:
        fits[number] = fit


def _add_loose(
    found: Sequence[dict[int, Fit]], answers: Sequence[Answer], recognised: Sequence[_Recognised]
) -> None:
    """Add themes if two of their words occur in an answer, one of them from the title."""
    loose = [each for each in recognised if each.loose_words]
    for fits, answer in zip(found, answers if loose else (), strict=bool(loose)):
        words = _words(answer.text) if answer.clauses else frozenset()
        for each in loose:
            if each.number not in fits and each.title_words & words and len(each.loose_words & words) > 1:
                fits[each.number] = Fit(str(each.number), 1.0, answer.clauses[0])


def _add_similar(
    found: Sequence[dict[int, Fit]],
    answers: Sequence[Answer],
    recognised: Sequence[_Recognised],
    *,
    unfit: Sequence[int],
) -> None:
    """Give each English answer without a theme the theme whose phrases mean nearly the same.

    Does nothing where embeddings are not installed.
    """
    clauses = [
        (number, span)
        for number in unfit
        if answers[number].language == ENGLISH
        for span in answers[number].clauses
    ]
    cues = [
        (each.number, cue.phrase)
        for each in recognised
        for cue in (*each.cues, *(cue for key in each.seeds for cue in all_seeds()[key].cues))
        if cue.language in (None, ENGLISH)
    ]
    if not clauses or not cues or not embeddings.are_available():
        return
    meanings = embeddings.embed([phrase.casefold() for _, phrase in cues])
    for start in range(0, len(clauses), _AT_ONCE):
        part = clauses[start : start + _AT_ONCE]
        meant = embeddings.embed([answers[number].text[slice(*span)].casefold() for number, span in part])
        similarities = meant @ meanings.T
        for (number, span), best, similarity in zip(
            part, similarities.argmax(axis=1), similarities.max(axis=1), strict=True
        ):
            if similarity >= _MIN_SIMILARITY:
                theme, phrase = cues[best]
                _keep_clearer(found[number], theme, Fit(str(theme), float(similarity), span, phrase))


def _has_own_phrases(languages: Mapping[str, float]) -> bool:
    """Whether a text may be in a language other than English that the seeds have phrases in."""
    return any(languages.get(language, 0.0) >= _MIN_PROBABILITY for language in _OWN_PHRASES)


def _fit(answers: Sequence[Answer], index: CueIndex, *, asked: Set[Cue] = frozenset()) -> list[Fits]:
    owners = [number for number, answer in enumerate(answers) for _ in answer.clauses]
    spans = [span for answer in answers for span in answer.clauses]
    texts = [text for answer in answers for text in answer.clause_texts()]

    def is_allowed(clause: int, cue: Cue) -> bool:
        if cue in asked and len(texts[clause].split()) > _MAX_WORDS_REPEATED:
            return False
        languages = answers[owners[clause]].languages
        is_short = len(texts[clause].split()) <= _MAX_WORDS_REPEATED  # The language of one word is unclear.
        if cue.language == ENGLISH and (is_short or not _has_own_phrases(languages)):
            return True  # English words occur in all languages, and for others we have no phrases.
        return cue.language is None or languages.get(cue.language, 0.0) >= _MIN_PROBABILITY

    found: list[dict[str, Fit]] = [{} for _ in answers]
    for clause, matches in index.matches(texts, is_allowed):
        for match in matches:
            fits = found[owners[clause]]
            earlier = fits.get(match.cue.theme)
            if earlier is None or match.weight > earlier.weight:
                fits[match.cue.theme] = Fit(match.cue.theme, match.weight, spans[clause], match.cue.phrase)
    return [sorted(fits.values(), key=lambda fit: (-fit.weight, fit.theme)) for fits in found]
