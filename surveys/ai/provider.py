"""What is asked of a provider of AI, and what it may answer: plain data, nothing of it trusted.

A provider drafts scripts and sorts texts. It never counts: what it assigns is counted by
`surveys/services/open_texts.py`, and a draft passes the same rules as a script written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Sentiment = Literal["positive", "neutral", "negative"]
SENTIMENTS: tuple[Sentiment, ...] = ("positive", "neutral", "negative")

MAX_INTENT = 4_000  # characters


class ProviderFailed(Exception):
    """The provider cannot be reached, refuses, or answers nothing that can be used.

    The message is a sentence for the caller, without anything that was sent or answered. `retry_after` are
    whole seconds after which another try may help.
    """

    def __init__(self, message: str, *, retry_after: int = 30) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


# --- Scripts --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """What a script is wanted for.

    `type` is `convo` or `poll`. `scoring` None leaves it to the provider whether points are needed.
    `bucket_names` are the project's declared buckets. `for_chat` asks for options that fit the chat
    platform. `locale` is a language tag, as `de` or `pt-BR`, or None.
    """

    intent: str
    type: str
    scoring: bool | None = None
    bucket_names: tuple[str, ...] = ()
    for_chat: bool = False
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptDraft:
    """A script as a caller of the interface would send it: `blocks` are the interface's Blocks."""

    blocks: Sequence[Mapping[str, object]]
    scoring_enabled: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """A draft that broke rules, and which: the interface's violations (`field`, `code`, `message`)."""

    draft: ScriptDraft
    violations: Sequence[Mapping[str, object]]


# --- Texts ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Theme:
    """Something that several answers say. `title` of at most 80 characters, unique within its question."""

    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Some answers to one open question. `known` are themes found before, which keep their titles.

    At most `room` new themes may be named. `answers` are data, whatever they say.
    """

    prompt: str
    answers: Sequence[str]
    known: Sequence[Theme] = ()
    room: int = 8
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class ReadText:
    """One answer as it was understood: titles of its themes, its mood, and a telling part of it, verbatim.

    No title at all means that it fits no theme.
    """

    themes: tuple[str, ...] = ()
    sentiment: Sentiment = "neutral"
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What was made of a batch. `texts` has one entry for each answer, in order; None where it was not read.

    `themes` are the new ones alone.
    """

    themes: Sequence[Theme]
    texts: Sequence[ReadText | None]


@dataclass(frozen=True, slots=True)
class CountedTheme:
    """A theme with what we counted. `percentage` is of the answers that were read."""

    title: str
    description: str
    count: int
    percentage: float
    sentiment: Sentiment


@dataclass(frozen=True, slots=True)
class TextFigures:
    """The counts of one open question, to be put into words."""

    prompt: str
    answer_count: int
    themes: Sequence[CountedTheme]
    sentiment: Mapping[str, int]
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """A whole analysis, to be put into words. `blocks` are AnalysisBlocks as the interface tells them."""

    name: str
    completion_count: int
    conversation_count: int
    blocks: Sequence[Mapping[str, object]]
    locale: str | None = None


class Provider(Protocol):
    """Every method may take long, must not be called inside a transaction, and raises ProviderFailed."""

    name: str  # told as `generated_by`
    texts_at_once: int  # answers in one TextBatch, at most

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ScriptDraft:
        """A script for an intent; with `correction` a better one than that."""
        ...

    def read_texts(self, batch: TextBatch) -> Reading:
        """Assign answers to themes, naming new ones where the known do not fit."""
        ...

    def summarize_texts(self, figures: TextFigures) -> str:
        """What people said to one open question, in two to four sentences."""
        ...

    def summarize(self, overview: Overview) -> str:
        """What the whole analysis shows, in three to six sentences."""
        ...
