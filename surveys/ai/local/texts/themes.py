"""Which themes an answer belongs to, by the words of their titles and descriptions.

A theme is only its title and description, whether it was discovered here, in an earlier batch or by another
provider. The same answer therefore always belongs to the same themes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import regex

from surveys.ai.local.texts.quotes import Span
from surveys.ai.local.texts.tokens import Tokenizer, Word
from surveys.ai.provider import TextTheme

_BREAK = "|"  # stands in a line of stems for anything but space between two words
_QUOTED = regex.compile(r"“([^“”]+)”")


class TokenizedAnswer:
    """An answer with its words. `language` is None if it could not be detected."""

    def __init__(self, text: str, words: Sequence[Word], *, language: str | None) -> None:
        self.text = text
        self.language = language
        self.words = words
        self.stems = frozenset(word.stem for word in words if not word.is_light)
        self._line = _line_of_stems(words)

    def has_phrase(self, phrase: str) -> bool:
        """Whether the answer contains a phrase, given as stems."""
        return f" {phrase} " in self._line

    def find(self, phrase: str) -> Span | None:
        """Where a phrase, given as stems, occurs for the first time."""
        before, found, _ = self._line.partition(f" {phrase} ")
        if not found:
            return None
        first = sum(1 for stem in before.split() if stem != _BREAK)
        return self.words[first].start, self.words[first + phrase.count(" ")].end


def _line_of_stems(words: Sequence[Word]) -> str:
    """All stems in one string, so that a phrase can be searched for."""
    parts = [""]
    for word in words:
        if not word.follows:
            parts.append(_BREAK)
        parts.append(word.stem)
    return " ".join([*parts, ""])


@dataclass(frozen=True, slots=True)
class ThemeMatcher:
    """A theme in the form in which answers are compared with it, all words given as stems.

    `title` is empty if it has no meaning of its own. `phrases` are quoted in the description; `loose_words`
    are those of the title and of a description that quotes nothing.
    """

    theme: TextTheme
    title: str
    title_stems: frozenset[str]
    phrases: tuple[str, ...]
    loose_words: frozenset[str]

    def score(self, answer: TokenizedAnswer) -> int:
        """How well an answer fits the theme; 0 if it does not."""
        score = 0
        if self.title and answer.has_phrase(self.title):
            score = 3
        elif len(self.title_stems) > 1 and self.title_stems <= answer.stems:
            score = 2
        score += sum(1 for phrase in self.phrases if answer.has_phrase(phrase))
        if not score and len(self.loose_words & answer.stems) > 1 and self.title_stems & answer.stems:
            return 1
        return score

    def find_in(self, answer: TokenizedAnswer) -> Span | None:
        """Where the answer mentions the theme."""
        for phrase in (self.title, *self.phrases, *sorted(self.title_stems), *sorted(self.loose_words)):
            if phrase and (span := answer.find(phrase)):
                return span
        return None


def matcher_for(theme: TextTheme, tokenizer: Tokenizer) -> ThemeMatcher:
    """Build the matcher of a theme.

    A description that we wrote quotes phrases. Of any other description we use the single words.
    """
    title = tokenizer.words(theme.title)
    title_stems = frozenset(word.stem for word in title if not word.is_light)
    quoted = [tokenizer.words(part) for part in _QUOTED.findall(theme.description)]
    described = [] if quoted else tokenizer.words(theme.description)
    loose_words = title_stems | {word.stem for word in described if not word.is_light}
    has_meaning = any(not (word.is_light or word.is_vague) for word in title)
    return ThemeMatcher(
        theme=theme,
        title=_stems_of(title) if has_meaning else "",
        title_stems=title_stems,
        phrases=tuple(_stems_of(words) for words in quoted if words),
        loose_words=loose_words if described else frozenset(),
    )


def _stems_of(words: Iterable[Word]) -> str:
    return " ".join(word.stem for word in words)


def matching_themes(answer: TokenizedAnswer, matchers: Sequence[ThemeMatcher]) -> list[ThemeMatcher]:
    """Return the themes that an answer fits, the best first; equal ones in their given order."""
    scores = ((matcher.score(answer), index) for index, matcher in enumerate(matchers))
    return [matchers[index] for _, index in sorted((-score, index) for score, index in scores if score)]
