"""Answers, prepared for matching: their clauses, and their probable languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import regex

from surveys.ai.local.texts.cleaning import MAX_READ_LENGTH, mask_noise, plain
from surveys.ai.local.texts.languages import Languages, detect_languages, most_probable
from surveys.ai.local.texts.seeds import all_seeds
from surveys.ai.local.texts.tokens import is_no_answer

Span = tuple[int, int]  # The offsets of the start and the end.

_CLAUSE = regex.compile(r"[^.,;:!?()\[\]\n\r|…。、！？–—]+")
_MAX_CLAUSES = 60
_WORD = regex.compile(r"\p{L}{9,40}")
_MIN_PART = 5  # A word that may be part of a German compound has at least this many letters.
_MIN_REST = 3
# These prefixes of verbs do not make a compound: `erwarten` has nothing to do with `warten`.
_PREFIXES = frozenset(
    regex.findall(
        r"\w+",
        "ab an auf aus be bei durch ein emp ent er ge hin her inter miss mit nach ueber um un unter ver "
        "vor weg wieder zer zu zurueck zusammen ",
    )
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. `is_silent` marks an answer without an opinion, such as `n/a`; that answer has no
    clauses.
    """

    text: str
    languages: Languages
    clauses: Sequence[Span]
    is_silent: bool

    @property
    def language(self) -> str | None:
        """The language of the answer; None if it is not clear."""
        return most_probable(self.languages)

    def clause_texts(self) -> Iterator[str]:
        """Yield the clauses in the form that is compared with cues. After a German compound, its parts
        follow.
        """
        is_german = self.language == "de"
        for start, end in self.clauses:
            clause = self.text[start:end]
            yield f"{clause} {' '.join(_parts_of_compounds(clause))}" if is_german else clause


def prepare(texts: Sequence[str], *, prompt: str, locale: str | None) -> list[Answer]:
    """Prepare answers to one question."""
    languages = detect_languages(texts, prompt=prompt, locale=locale)
    answers: list[Answer] = []
    for text, probable in zip(texts, languages, strict=True):
        is_silent = is_no_answer(text)
        answers.append(Answer(text, probable, [] if is_silent else clauses_of(text), is_silent))
    return answers


def clauses_of(text: str) -> list[Span]:
    """Return where the clauses of a text are. Punctuation, links, mentions and mark-up separate clauses."""
    masked = mask_noise(text[:MAX_READ_LENGTH])
    return [match.span() for match in _CLAUSE.finditer(masked) if match[0].strip()][:_MAX_CLAUSES]


def _parts_of_compounds(clause: str) -> Iterator[str]:
    """Yield words of the seed codebook with which German compounds end or begin: `Beitrag` of
    `Monatsbeitrag`.
    """
    known = _german_words()
    for match in _WORD.finditer(clause):
        word = plain(match[0])
        if word in known:
            continue
        for cut in range(_MIN_REST, len(word) - _MIN_PART + 1):
            if word[cut:] in known and word[:cut] not in _PREFIXES:
                yield word[cut:]
                break
        for cut in range(len(word) - _MIN_REST, _MIN_PART - 1, -1):
            if word[:cut] in known:
                yield word[:cut]
                break


@cache
def _german_words() -> frozenset[str]:
    """Single German words of the seed codebook, without accents."""
    words = (plain(cue.phrase) for seed in all_seeds().values() for cue in seed.cues if cue.language == "de")
    return frozenset(word for word in words if word.isalpha() and len(word) >= _MIN_PART)
