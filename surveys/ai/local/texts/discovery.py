"""Discovery of new themes among answers that fit no known theme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from surveys.ai.local.texts.cleaning import fold
from surveys.ai.local.texts.clusters import cluster_phrases
from surveys.ai.local.texts.phrases import PhraseSpellings, phrases_of
from surveys.ai.local.texts.themes import ThemeMatcher, TokenizedAnswer, matcher_for
from surveys.ai.local.texts.tokens import Tokenizer
from surveys.ai.provider import MAX_THEME_TITLE, TextTheme

MIN_ANSWERS_TO_DISCOVER = 5
_MIN_ANSWERS = 2  # for each theme, so that the words of one person never become a title
_MIN_SHARE = 0.01
_MAX_PHRASES = 300  # to cluster: computing the distances of more takes long, and they are rare
_MAX_DESCRIBED = 5
_MAX_ADDED = 0.5  # of the title's answers: a phrase that adds more answers than that is a subject of its own
_WEIGHT_OF_PROMPT_WORDS = 0.3  # words of the question say little about the answers
_WEIGHTS = (1.0, 1.6, 1.8, 1.8)  # by number of words: a phrase says more than a word
_WEIGHTS_UNSPACED = (1.0, 1.0, 1.3, 1.6)  # by number of characters

Cluster = Sequence[str]  # phrases, given as stems


def discover_themes(
    answers: Sequence[TokenizedAnswer],
    *,
    tokenizer: Tokenizer,
    prompt: str,
    limit: int,
    taken_titles: Collection[str],
) -> list[ThemeMatcher]:
    """Find at most `limit` themes that several answers share, those that cover most answers first."""
    if len(answers) < MIN_ANSWERS_TO_DISCOVER or limit < 1:
        return []
    index = _PhraseIndex(answers, tokenizer=tokenizer, prompt=prompt)
    titles = {fold(title) for title in taken_titles}
    clusters = cluster_phrases(index.documents, index.vocabulary)
    candidates = [cluster for cluster in clusters if index.weight(cluster[0])]
    discovered: list[ThemeMatcher] = []
    uncovered = set(range(len(answers)))
    while candidates and len(discovered) < limit:
        best = max(candidates, key=lambda cluster: (index.value(cluster, uncovered), cluster))
        candidates.remove(best)
        matcher = index.theme_of(best)
        covered = {number for number, answer in enumerate(answers) if matcher.score(answer)}
        if len(covered & uncovered) < index.min_answers:
            continue
        title = fold(matcher.theme.title)
        if title in titles or len(matcher.theme.title) > MAX_THEME_TITLE:
            continue
        titles.add(title)
        discovered.append(matcher)
        uncovered -= covered
    return discovered


class _PhraseIndex:
    """The phrases of a set of answers: where they occur, how much they weigh, and how they are spelled."""

    def __init__(self, answers: Sequence[TokenizedAnswer], *, tokenizer: Tokenizer, prompt: str) -> None:
        self._tokenizer = tokenizer
        self._prompt_stems = frozenset(word.stem for word in tokenizer.words(prompt))
        self._spellings = PhraseSpellings(capitalises_nouns=tokenizer.language == "de")
        self.min_answers = max(_MIN_ANSWERS, int(len(answers) * _MIN_SHARE))
        self._answers_with: dict[str, set[int]] = {}  # numbers of the answers, by phrase
        self._sum_of_starts = Counter[str]()
        for number, answer in enumerate(answers):
            for phrase in phrases_of(answer.words):
                self._answers_with.setdefault(phrase.key, set()).add(number)
                self._sum_of_starts[phrase.key] += phrase.start
        self._drop_rare_phrases()
        by_weight = sorted(self._answers_with, key=lambda key: (-self.weight(key), key))
        self.vocabulary = sorted(by_weight[:_MAX_PHRASES])
        self.documents = self._documents(answers)

    def _drop_rare_phrases(self) -> None:
        """Also drop phrases that occur only inside a longer one: `board` if all write `board games`."""
        frequent = {
            key: numbers for key, numbers in self._answers_with.items() if len(numbers) >= self.min_answers
        }
        parts: set[str] = set()
        for key in frequent:
            words = key.split(" ")
            for start in range(len(words)):
                for end in range(start + 1, len(words) + 1):
                    part = " ".join(words[start:end])
                    if part != key and part in frequent and len(frequent[part]) == len(frequent[key]):
                        parts.add(part)
        self._answers_with = {key: numbers for key, numbers in frequent.items() if key not in parts}

    def _documents(self, answers: Sequence[TokenizedAnswer]) -> list[list[str]]:
        """The phrases of the vocabulary in each answer; counts their spellings on the way."""
        vocabulary = set(self.vocabulary)
        documents: list[list[str]] = []
        for answer in answers:
            present: set[str] = set()
            for phrase in phrases_of(answer.words):
                if phrase.key in vocabulary:
                    self._spellings.add(phrase, answer.text)
                    present.add(phrase.key)
            documents.append(sorted(present))
        return documents

    def weight(self, key: str) -> float:
        """How well a phrase represents the answers that contain it."""
        words = key.split(" ")
        weights = _WEIGHTS_UNSPACED if all(len(word) == 1 for word in words) else _WEIGHTS
        weight = weights[min(len(words), len(weights)) - 1]
        share_of_prompt = sum(1 for word in words if word in self._prompt_stems) / len(words)
        return len(self._answers_with[key]) * weight * (1 - (1 - _WEIGHT_OF_PROMPT_WORDS) * share_of_prompt)

    def value(self, cluster: Cluster, uncovered: Collection[int]) -> float:
        """How much a cluster would add to the themes discovered so far."""
        title = self._by_weight(cluster)[0]
        numbers = set().union(*(self._answers_with[key] for key in cluster))
        return len(numbers & set(uncovered)) * self.weight(title) / len(self._answers_with[title])

    def theme_of(self, cluster: Cluster) -> ThemeMatcher:
        """Make a theme of a cluster: the best phrase is its title, and the next ones describe it."""
        title, *others = self._by_weight(cluster)
        related = [key for key in others if self._belongs_to(title, key)][:_MAX_DESCRIBED]
        quoted = [f"“{self._spellings.most_frequent(key)}”" for key in (title, *related)]
        mentions = quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
        theme = TextTheme(self._spellings.title(title), f"Answers that mention {mentions}.")
        return matcher_for(theme, self._tokenizer)

    def _belongs_to(self, title: str, key: str) -> bool:
        """Whether a phrase can describe the theme without bringing in answers about something else."""
        if f" {title} " in f" {key} ":
            return True
        added = self._answers_with[key] - self._answers_with[title]
        return len(added) <= _MAX_ADDED * len(self._answers_with[title])

    def _by_weight(self, cluster: Cluster) -> list[str]:
        """The heaviest first; of equal ones, the one that comes earlier in the answers."""
        return sorted(
            cluster,
            key=lambda key: (
                -self.weight(key),
                self._sum_of_starts[key] / len(self._answers_with[key]),
                key,
            ),
        )
