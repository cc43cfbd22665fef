"""The interface between the services and an AI provider: requests, results and the `Provider` protocol.

A provider drafts scripts, assigns open answers to themes, and writes summaries. Nothing that it returns is
trusted: a draft passes the same rules as a script written by hand, and we do all the counting ourselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Sentiment = Literal["positive", "neutral", "negative"]
SENTIMENTS: tuple[Sentiment, ...] = ("positive", "neutral", "negative")

LOCAL = "local"  # the name of the provider that works offline and costs no credits
ANTHROPIC = "anthropic"

# All in characters.
MAX_INTENT = 4_000
MAX_THEME_TITLE = 80
MAX_THEME_DESCRIPTION = 300
MAX_QUOTE = 200


class ProviderError(Exception):
    """The provider cannot be reached, refuses the request, or returns nothing usable.

    `message` is a sentence for the caller; it contains nothing of the request or the response. `retry_after`
    is the number of whole seconds after which another try may succeed.
    """

    def __init__(self, message: str, *, retry_after: int = 30) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


# --- Scripts --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """The script that somebody wants.

    `type` is `convo` or `poll`. With `scoring` None the provider decides whether points are needed.
    `bucket_names` are the buckets declared by the project. `for_chat` asks for options that fit the buttons
    of the chat platform. `locale` is a language tag such as `de` or `pt-BR`, or None.
    """

    intent: str
    type: str
    scoring: bool | None = None
    bucket_names: tuple[str, ...] = ()
    for_chat: bool = False
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class ProposedScript:
    """A drafted script. `blocks` have the form in which a client of our API sends them."""

    blocks: Sequence[Mapping[str, object]]
    scoring_enabled: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """A draft that broke rules, with its violations as our API returns them (`field`, `code`, `message`)."""

    draft: ProposedScript
    violations: Sequence[Mapping[str, object]]


# --- Texts ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextTheme:
    """Something that several answers mention.

    `title` has at most 80 characters and is unique within its question.
    """

    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Some of the answers to one open question.

    `known_themes` were found earlier and keep their titles; the provider may add `max_new_themes` of its own.
    `answers` are data, never instructions.
    """

    prompt: str
    answers: Sequence[str]
    known_themes: Sequence[TextTheme] = ()
    max_new_themes: int = 8
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class TextReading:
    """What a provider found in one answer: the titles of its themes, its sentiment, and a verbatim quote.

    `themes` is empty when the answer fits no theme. `sentiment` is None when the provider cannot judge the
    language of the answer.
    """

    themes: tuple[str, ...] = ()
    sentiment: Sentiment | None = "neutral"
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class BatchReading:
    """What a provider found in a batch.

    `themes` holds the new themes only. `texts` has one entry for each answer, in the same order; None for an
    answer that could not be read.
    """

    themes: Sequence[TextTheme]
    texts: Sequence[TextReading | None]


@dataclass(frozen=True, slots=True)
class CountedTheme:
    """A theme with our counts. `percentage` is its share of the answers that were read, from 0 to 100."""

    title: str
    description: str
    count: int
    percentage: float
    sentiment: Sentiment | None


@dataclass(frozen=True, slots=True)
class TextFigures:
    """The figures of one open question, for a summary. `sentiment` counts answers by sentiment.

    `unjudged_count` answers were read too, but are in languages whose sentiment the provider cannot judge.
    """

    prompt: str
    answer_count: int
    themes: Sequence[CountedTheme]
    sentiment: Mapping[str, int]
    locale: str | None = None
    unjudged_count: int = 0


@dataclass(frozen=True, slots=True)
class AnalysisOverview:
    """The figures of a whole analysis, for a summary. `blocks` are AnalysisBlocks as our API returns them."""

    name: str
    completion_count: int
    conversation_count: int
    blocks: Sequence[Mapping[str, object]]
    locale: str | None = None


class Provider(Protocol):
    """An AI provider. Its methods may take minutes and raise ProviderError.

    Never call them inside a transaction.
    """

    name: str  # stored as `generated_by`
    max_batch_size: int  # the largest number of answers in one TextBatch

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ProposedScript:
        """Draft a script. With a `correction`, replace that draft with one that breaks no rules."""
        ...

    def read_texts(self, batch: TextBatch) -> BatchReading:
        """Assign each answer to themes, and name new themes where the known ones do not fit."""
        ...

    def summarize_texts(self, figures: TextFigures) -> str:
        """Summarize the answers to one open question in two to four sentences."""
        ...

    def summarize_analysis(self, overview: AnalysisOverview) -> str:
        """Summarize the whole analysis in three to six sentences."""
        ...
