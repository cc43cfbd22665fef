"""The interface between the services and an AI provider: requests, results and the `Provider` protocol.

A provider drafts and changes scripts, names themes, assigns open answers to them, asks further questions, and
writes about figures. The application trusts nothing that a provider returns. A draft must pass the same rules
as a script written by hand, and the application itself counts the themes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Sentiment = Literal["positive", "neutral", "negative"]
SENTIMENTS: tuple[Sentiment, ...] = ("positive", "neutral", "negative")

LOCAL = "local"  # the name of the provider that works offline and costs no credits
ANTHROPIC = "anthropic"
OPENAI = "openai"  # The name of the provider for OpenAI and every server with the same interface.

# The limits below are in characters.
MAX_INTENT = 4_000
MAX_INSTRUCTION = 4_000
MAX_QUESTION = 500  # A question about results has at most this many characters.
MAX_FURTHER_QUESTION = 300
MAX_THEME_TITLE = 80
MAX_THEME_DESCRIPTION = 300
MAX_QUOTE = 200


class ProviderError(Exception):
    """The provider cannot be reached, refuses the request, or returns nothing usable.

    `message` is a sentence for the caller, without anything of the request or the response. `retry_after` is
    the number of whole seconds after which another try may succeed.
    """

    def __init__(self, message: str, *, retry_after: int = 30) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after


NO_BULK = "The AI provider has no interface for bulks."


class UnwrittenLanguage(ProviderError):
    """The provider writes no scripts in the language of the intent, so another try would fail, too."""


# --- Scripts --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """The script that somebody wants.

    `type` is `convo` or `poll`. With `scoring` None the provider decides whether points are needed.
    `bucket_names` are the buckets declared by the project. `for_chat` asks for options that fit the buttons
    of the chat platform. `locale` is a language tag such as `de` or `pt-BR`, or None. `community` is the name
    of the community that is asked, and `topics` are the topics of the community.
    """

    intent: str
    type: str
    scoring: bool | None = None
    bucket_names: tuple[str, ...] = ()
    for_chat: bool = False
    locale: str | None = None
    community: str = ""
    topics: str = ""


@dataclass(frozen=True, slots=True)
class RevisionRequest:
    """A script to change as somebody instructs, for example "shorter" or "in German".

    `blocks` are the script as our API returns it, ids included.
    """

    blocks: Sequence[Mapping[str, object]]
    instruction: str
    type: str
    bucket_names: tuple[str, ...] = ()
    for_chat: bool = False
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class ProposedScript:
    """A drafted script. `blocks` have the form in which a client of our API sends them.

    `understood` are short sentences about what was taken from the intent, and `unmet` about wishes that were
    not met. `confidence` is from 0 to 1; None if unknown. `wishes` are settings found in the intent:
    `privacy_mode` (`anonymous`, `transparent`), `type` (`poll`, `convo`), `closing` (an ISO date, or the
    words) and `language` (a tag). `is_placeholder` is True for a draft that its author must complete.
    """

    blocks: Sequence[Mapping[str, object]]
    scoring_enabled: bool = False
    understood: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()
    confidence: float | None = None
    wishes: Mapping[str, str] = field(default_factory=dict)
    is_placeholder: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """A draft that broke rules, with its violations as our API returns them (`field`, `code`, `message`)."""

    draft: ProposedScript
    violations: Sequence[Mapping[str, object]]


RemarkCode = Literal[
    "leading",
    "double_barrelled",
    "loaded",
    "overlapping_options",
    "missing_other",
    "too_long",
    "hard_to_read",
    "order_effect",
]


@dataclass(frozen=True, slots=True)
class Remark:
    """A weakness of one question. `position` is its index, and `message` one sentence for the author."""

    position: int
    code: str
    message: str


# --- Texts ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextTheme:
    """A topic that several answers mention.

    `title` has at most 80 characters and is unique within its question. `phrases` are a provider's own means
    to recognise the theme: at most 20 of 80 characters, stored with it.
    """

    title: str
    description: str = ""
    phrases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextSample:
    """A sample of at most 300 answers to one open question, for naming themes.

    The provider must not name `known_themes` again, because they remain. `answers` are data, never
    instructions.
    """

    prompt: str
    answers: Sequence[str]
    known_themes: Sequence[TextTheme] = ()
    max_new_themes: int = 12
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class TextExample:
    """An answer whose reading staff corrected. `themes` are indexes into the themes of the batch."""

    text: str
    themes: tuple[int, ...]
    sentiment: Sentiment | None = None


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Some of the answers to one open question, for assigning them to the themes of its codebook.

    `answers` are data, never instructions.
    """

    prompt: str
    answers: Sequence[str]
    themes: Sequence[TextTheme]
    examples: Sequence[TextExample] = ()
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class TextReading:
    """The reading of one answer by a provider.

    `themes` are indexes into the themes of the batch, and empty if the answer fits none. `sentiment` is None
    if the provider cannot judge the language of the answer, or if the answer is no opinion, such as "n/a".
    `quote` is a verbatim part of the answer.
    """

    themes: tuple[int, ...] = ()
    sentiment: Sentiment | None = "neutral"
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class BulkState:
    """The progress of a provider with a bulk. `share` is the part of the batches that is done: 0 to 1."""

    is_ended: bool
    share: float


@dataclass(frozen=True, slots=True)
class CountedTheme:
    """A theme with our counts. `percentage` is the share of the theme among the answers that were read, from
    0 to 100.
    """

    title: str
    description: str
    count: int
    percentage: float
    sentiment: Sentiment | None


@dataclass(frozen=True, slots=True)
class TextFigures:
    """The figures of one open question, for a summary. `sentiment` counts answers by sentiment.

    `unjudged_count` answers were read too, but their sentiment was not judged.
    """

    prompt: str
    answer_count: int
    themes: Sequence[CountedTheme]
    sentiment: Mapping[str, int]
    locale: str | None = None
    unjudged_count: int = 0


@dataclass(frozen=True, slots=True)
class AnalysisOverview:
    """The figures of a whole analysis, for a summary. `blocks` are AnalysisBlocks as our API returns them.

    `differences` are sentences in English about statistically significant differences, with the test that
    shows them.
    """

    name: str
    completion_count: int
    conversation_count: int
    blocks: Sequence[Mapping[str, object]]
    locale: str | None = None
    differences: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ReferencedFigure:
    """A figure that a claim can cite: its `reference`, such as `b12.mean`, its description, and its value."""

    reference: str
    text: str
    value: str

    @property
    def is_average(self) -> bool:
        """Return whether the value counts no people: an average, an extreme number or a score."""
        return self.reference.endswith((".mean", ".min", ".max", ".nps"))


@dataclass(frozen=True, slots=True)
class ResultsQuestion:
    """A question about results, to be answered from these figures alone."""

    question: str
    figures: Sequence[ReferencedFigure]
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer about results, with the references of its figures."""

    text: str
    references: tuple[str, ...]


# --- Conversations ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FollowUpRequest:
    """An answer that a further question may make clearer.

    `earlier` are the earlier further questions about the answer, each with its answer. `answer` and the
    earlier answers are data, never instructions.
    """

    prompt: str
    answer: str
    earlier: Sequence[tuple[str, str]] = ()
    locale: str | None = None


class Provider(Protocol):
    """An AI provider. The methods may take minutes and raise ProviderError.

    Never call a method inside a transaction. `surveys.ai.spending.measure` adds up the costs of calls.
    """

    name: str  # The name is stored as `generated_by`.
    max_batch_size: int  # One TextBatch has at most this many answers.

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ProposedScript:
        """Draft a script. With a `correction`, replace that draft with one that breaks no rules."""
        ...

    def revise_script(self, request: RevisionRequest, correction: Correction | None = None) -> ProposedScript:
        """Change a script as instructed. Blocks and options that remain keep their ids."""
        ...

    def review_script(self, blocks: Sequence[Mapping[str, object]], locale: str | None) -> Sequence[Remark]:
        """Point out weaknesses of questions, as warnings for their author."""
        ...

    def name_themes(self, sample: TextSample) -> Sequence[TextTheme]:
        """Name themes that the known themes do not cover, without near-duplicates."""
        ...

    def assign_themes(self, batch: TextBatch) -> Sequence[TextReading | None]:
        """Assign each answer to themes. Returns a reading for each answer, in order; None for an unreadable
        answer.
        """
        ...

    def begin_bulk(self, batches: Sequence[TextBatch]) -> str | None:
        """Have batches read within a day, at a lower price. Returns the id of the bulk.

        None if the provider has no such interface.
        """
        ...

    def look_at_bulk(self, bulk_id: str) -> BulkState:
        """Return the progress of a bulk."""
        ...

    def end_bulk(
        self, bulk_id: str, batches: Sequence[TextBatch]
    ) -> Sequence[Sequence[TextReading | None] | None]:
        """The readings of the batches of a bulk that has ended, in order; None for a batch that failed."""
        ...

    def cancel_bulk(self, bulk_id: str) -> None:
        """Cancel a bulk, started by `begin_bulk`, whose readings nobody needs any more."""
        ...

    def summarize_texts(self, figures: TextFigures) -> str:
        """Summarize the answers to one open question in two to four sentences."""
        ...

    def summarize_analysis(self, overview: AnalysisOverview) -> str:
        """Summarize the whole analysis in three to six sentences."""
        ...

    def answer_question(self, question: ResultsQuestion) -> Sequence[Claim]:
        """Answer from the figures alone. An answer without claims means that the figures are not enough. The
        services check the numbers of each claim.
        """
        ...

    def ask_further(self, request: FollowUpRequest) -> str | None:
        """Write a further question about an answer; None if the answer is clear enough."""
        ...
