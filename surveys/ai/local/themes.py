"""Which theme an answer fits, by the words of the theme; and new themes out of what fits none.

A theme is nothing but its title and description, whether it was found here, in an earlier batch or by
another provider: so the same answer fits the same themes every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import regex

from surveys.ai.local import clusters
from surveys.ai.local.phrases import TITLE_LENGTH, WrittenForms, phrases
from surveys.ai.local.tokens import Reader, Word, folded
from surveys.ai.provider import Theme

ENOUGH_ANSWERS = 5  # to look for themes among them
_LEAST = 2  # so that no single person's words become a title
_LEAST_SHARE = 0.01
_MOST_PHRASES = 300  # that are clustered: the distances of more take long, and they are rare ones
_IN_DESCRIPTION = 5
_BROADER = 0.5  # of the title's answers: a phrase that brings in more than that is a matter of its own
_ASKED = 0.3  # a phrase of the question says little about the answers
_WORTH = (1.0, 1.6, 1.8, 1.8)  # by the number of words: a phrase tells more than a word
_WORTH_UNSPACED = (1.0, 1.0, 1.3, 1.6)  # by the number of signs
_QUOTED = regex.compile(r"“([^“”]+)”")
_MENTION = "Answers that mention"


class Text:
    """An answer, taken apart. `language` is None where its words do not tell."""

    def __init__(self, answer: str, words: Sequence[Word], *, language: str | None) -> None:
        self.answer = answer
        self.language = language
        self.words = words
        self.stems = frozenset(word.stem for word in words if not word.is_light)
        self.line = _line(words)

    def place(self, phrase: str) -> tuple[int, int] | None:
        """Where a phrase, given as its stems, stands for the first time."""
        before, found, _ = self.line.partition(f" {phrase} ")
        if not found:
            return None
        first = sum(1 for stem in before.split() if stem != _BREAK)
        return self.words[first].start, self.words[first + phrase.count(" ")].end


_BREAK = "|"


def _line(words: Sequence[Word]) -> str:
    parts = [""]
    for word in words:
        if not word.follows:
            parts.append(_BREAK)
        parts.append(word.stem)
    return " ".join([*parts, ""])


@dataclass(frozen=True, slots=True)
class KnownTheme:
    """A theme as a set of words. `phrases` are told in its description, `around` are its loose words."""

    theme: Theme
    title: str
    title_stems: frozenset[str]
    phrases: tuple[str, ...]
    around: frozenset[str]

    def fit(self, text: Text) -> int:
        """How well an answer fits; 0 where it does not."""
        score = 0
        if self.title and f" {self.title} " in text.line:
            score = 3
        elif len(self.title_stems) > 1 and self.title_stems <= text.stems:
            score = 2
        score += sum(1 for phrase in self.phrases if f" {phrase} " in text.line)
        if not score and len(self.around & text.stems) > 1 and self.title_stems & text.stems:
            return 1
        return score

    def place(self, text: Text) -> tuple[int, int] | None:
        for phrase in (self.title, *self.phrases, *sorted(self.title_stems), *sorted(self.around)):
            if phrase and (place := text.place(phrase)):
                return place
        return None


def known_theme(theme: Theme, reader: Reader) -> KnownTheme:
    """What its title and description say. A description of ours quotes phrases; any other is loose words."""
    title = reader.words(theme.title)
    stems = frozenset(word.stem for word in title if not word.is_light)
    quoted = [reader.words(part) for part in _QUOTED.findall(theme.description)]
    loose = [] if quoted else reader.words(theme.description)
    return KnownTheme(
        theme=theme,
        title=_key(title) if any(not (word.is_light or word.is_vague) for word in title) else "",
        title_stems=stems,
        phrases=tuple(_key(part) for part in quoted if part),
        around=stems | {word.stem for word in loose if not word.is_light} if loose else frozenset(),
    )


def _key(words: Iterable[Word]) -> str:
    return " ".join(word.stem for word in words)


def fitting(text: Text, themes: Sequence[KnownTheme]) -> list[KnownTheme]:
    """The themes that an answer fits, the best first."""
    scores = ((theme.fit(text), place) for place, theme in enumerate(themes))
    return [themes[place] for _, place in sorted((-score, place) for score, place in scores if score)]


# --- New ones -------------------------------------------------------------------------------------


def new_themes(
    texts: Sequence[Text],
    *,
    reader: Reader,
    prompt: str,
    room: int,
    taken: Collection[str],
) -> list[KnownTheme]:
    """At most `room` themes that several of the texts share, those of the most texts first."""
    if len(texts) < ENOUGH_ANSWERS or room < 1:
        return []
    found = _Found(texts, reader=reader, prompt=prompt)
    titles = {folded(title) for title in taken}
    waiting = [group for group in clusters.groups(found.documents, found.vocabulary) if found.worth(group[0])]
    named: list[KnownTheme] = []
    uncovered = set(range(len(texts)))
    while waiting and len(named) < room:
        best = max(waiting, key=lambda group: (found.value(group, uncovered), group))
        waiting.remove(best)
        theme = found.theme(best)
        covered = {place for place, text in enumerate(texts) if theme.fit(text)}
        if len(covered & uncovered) < found.least:
            continue
        title = folded(theme.theme.title)
        if title in titles or len(theme.theme.title) > TITLE_LENGTH:
            continue
        titles.add(title)
        named.append(theme)
        uncovered -= covered
    return named


class _Found:
    """The phrases of some texts, how often they occur, and how they are written."""

    def __init__(self, texts: Sequence[Text], *, reader: Reader, prompt: str) -> None:
        self.reader = reader
        self.least = max(_LEAST, int(len(texts) * _LEAST_SHARE))
        self.forms = WrittenForms(nouns_are_capitalised=reader.language == "de")
        self._asked = frozenset(word.stem for word in reader.words(prompt))
        self.places: dict[str, set[int]] = {}
        self._starts = Counter[str]()
        for place, text in enumerate(texts):
            for phrase in phrases(text.words):
                self.places.setdefault(phrase.key, set()).add(place)
                self._starts[phrase.key] += phrase.start
        self._leave_out_rare_ones()
        self.vocabulary = sorted(sorted(self.places, key=lambda key: (-self.worth(key), key))[:_MOST_PHRASES])
        chosen = set(self.vocabulary)
        self.documents: list[list[str]] = []
        for text in texts:
            present: set[str] = set()
            for phrase in phrases(text.words):
                if phrase.key in chosen:
                    self.forms.note(phrase, text.answer)
                    present.add(phrase.key)
            self.documents.append(sorted(present))

    def _leave_out_rare_ones(self) -> None:
        """And what is never said but as a part of a longer phrase: `board` where all say `board games`."""
        often = {key: places for key, places in self.places.items() if len(places) >= self.least}
        parts: set[str] = set()
        for key in often:
            words = key.split(" ")
            for start in range(len(words)):
                for end in range(start + 1, len(words) + 1):
                    part = " ".join(words[start:end])
                    if part != key and part in often and len(often[part]) == len(often[key]):
                        parts.add(part)
        self.places = {key: places for key, places in often.items() if key not in parts}

    def worth(self, key: str) -> float:
        """How well a phrase stands for the texts that have it."""
        words = key.split(" ")
        worths = _WORTH_UNSPACED if all(len(word) == 1 for word in words) else _WORTH
        asked = sum(1 for word in words if word in self._asked) / len(words)
        return len(self.places[key]) * worths[min(len(words), len(worths)) - 1] * (1 - (1 - _ASKED) * asked)

    def value(self, group: Sequence[str], uncovered: Collection[int]) -> float:
        """What a group would add to the themes that there are."""
        title = self._by_worth(group)[0]
        places = set().union(*(self.places[key] for key in group))
        return len(places & set(uncovered)) * self.worth(title) / len(self.places[title])

    def theme(self, group: Sequence[str]) -> KnownTheme:
        title, *others = self._by_worth(group)
        told = [self.forms.told(key) for key in others if self._belongs(key, title)][:_IN_DESCRIPTION]
        mentioned = [f"“{phrase}”" for phrase in (self.forms.told(title), *told)]
        listed = mentioned[0] if len(mentioned) == 1 else f"{', '.join(mentioned[:-1])} or {mentioned[-1]}"
        theme = Theme(title=self.forms.title(title), description=f"{_MENTION} {listed}.")
        return known_theme(theme, self.reader)

    def _belongs(self, key: str, title: str) -> bool:
        """Whether it adds to the title without leading to answers about something else."""
        more = self.places[key] - self.places[title]
        if f" {title} " in f" {key} ":
            return True
        return len(more) <= _BROADER * len(self.places[title])

    def _by_worth(self, group: Sequence[str]) -> list[str]:
        """Of those that are worth the same the one that is said first: `pizza` in `The pizza was cold`."""
        return sorted(
            group,
            key=lambda key: (-self.worth(key), self._starts[key] / len(self.places[key]), key),
        )
