"""The seed codebook: themes that people often mention, with phrases in five languages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from surveys.ai.local.texts.cleaning import plain
from surveys.ai.local.texts.cues import Cue, CueIndex
from surveys.ai.provider import TextTheme

LANGUAGES = ("en", "de", "fr", "es", "pt")
# The phrase by which a stored theme refers to a seed begins with this mark; the theme's title may change.
_MARK = "seed:"
# Subjects of questions rather than of answers, unless the question is about something else.
_SUBJECTS_OF_QUESTIONS = {"app", "classes", "content", "events", "materials", "programme"}


@dataclass(frozen=True, slots=True)
class Seed:
    """A theme of the seed codebook. `titles` contains its title in each language."""

    key: str
    titles: Mapping[str, str]
    cues: Sequence[Cue]

    @property
    def mark(self) -> str:
        """The phrase that refers to this seed."""
        return f"{_MARK}{self.key}"

    @property
    def may_be_subject_of_question(self) -> bool:
        """Return whether the question itself may contain the seed's phrases, so that they say nothing about
        answers.
        """
        return self.key in _SUBJECTS_OF_QUESTIONS


@cache
def all_seeds() -> Mapping[str, Seed]:
    """The seeds by key."""
    themes = json.loads(Path(__file__).with_name("seed_themes.json").read_text(encoding="utf-8"))
    return {
        key: Seed(
            key,
            {language: theme["title"] for language, theme in by_language.items()},
            [
                Cue(key, phrase, language)
                for language, theme in by_language.items()
                for phrase in theme["phrases"]
            ],
        )
        for key, by_language in themes.items()
    }


@cache
def seed_index() -> CueIndex:
    """The phrases of all seeds, ready for matching."""
    return CueIndex([cue for seed in all_seeds().values() for cue in seed.cues])


def seeds_of(theme: TextTheme) -> frozenset[str]:
    """Return the keys of the seeds that a theme refers to, else the keys of the seeds with the
    theme's title.
    """
    marked = (phrase.removeprefix(_MARK) for phrase in theme.phrases if phrase.startswith(_MARK))
    keys = frozenset(key for key in marked if key in all_seeds())
    return keys or frozenset(_keys_by_name().get(plain(theme.title), ()))


def is_mark(phrase: str) -> bool:
    """Whether a phrase of a theme is the mark of a seed, and not words to look for in answers."""
    return phrase.startswith(_MARK)


@cache
def _keys_by_name() -> Mapping[str, Sequence[str]]:
    """Return the keys of seeds by their titles and phrases, without ambiguous titles and phrases."""
    keys: dict[str, set[str]] = {}
    for seed in all_seeds().values():
        for name in (*seed.titles.values(), *(cue.phrase for cue in seed.cues)):
            keys.setdefault(plain(name), set()).add(seed.key)
    return {name: tuple(found) for name, found in keys.items() if len(found) == 1}
