"""The work of a provider with a model: the requests to the model, and the reading of its responses."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from surveys.ai.models import questions, schemas, serialization
from surveys.ai.models.assignment import Piece, assign_in_pieces, read_piece
from surveys.ai.models.json_values import JsonObject, malformed, truncate
from surveys.ai.models.plain_text import as_plain_sentences
from surveys.ai.models.prompts import Prompt, build_prompt, language_instruction
from surveys.ai.models.request import ModelRequest
from surveys.ai.models.revisions import read_revision
from surveys.ai.models.scripts import read_script
from surveys.ai.models.themes import name_in_halves, read_themes
from surveys.ai.provider import (
    AnalysisOverview,
    BulkState,
    Claim,
    Correction,
    FollowUpRequest,
    ProposedScript,
    Remark,
    ResultsQuestion,
    RevisionRequest,
    ScriptRequest,
    TextBatch,
    TextFigures,
    TextReading,
    TextSample,
    TextTheme,
)

if TYPE_CHECKING:
    from surveys.ai.models.client import ModelClient

# The seconds of one call of a method, with all retries and pieces. They end before the lease of a job.
SECONDS_PER_CALL = 120.0
# The seconds of one request.
SECONDS_FOR_A_SCRIPT = 100.0
SECONDS_FOR_TEXTS = 60.0
SECONDS_FOR_A_SUMMARY = 40.0
# A respondent waits for a further question.
SECONDS_FOR_A_FURTHER_QUESTION = 8.0
_TOKENS_FOR_A_SUMMARY = 4_000
_TOKENS_FOR_A_FURTHER_QUESTION = 1_500
_TOKENS_PER_TEXT = 120
_TOKENS_BESIDE_TEXTS = 4_000
MAX_TEXTS_SUMMARY = 800  # A summary of texts has at most this many characters.
MAX_ANALYSIS_SUMMARY = 1_500
_MAX_SAMPLED = 500  # One answer in a sample has at most this many characters.


class ModelProvider(ABC):
    """A provider with a model. All threads of a worker share one instance, which opens connections at the
    first request.

    Tests replace `pause` and `clock`.
    """

    name: str
    max_batch_size = 100
    # The answers in one request have at most this many characters; a single answer may have 10,000.
    max_characters = 60_000
    # The tokens of one response, with the tokens that the model spends on thinking. A model has no time to
    # write more.
    max_tokens = 16_000

    def __init__(
        self,
        *,
        script_model: str,
        text_model: str,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._script_model, self._text_model = script_model, text_model
        self._pause, self._clock = pause, clock
        self._lock = threading.Lock()
        self._open_client: ModelClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The next request opens new ones."""
        with self._lock:
            client, self._open_client = self._open_client, None
        if client is not None:
            client.close()

    @abstractmethod
    def _connect(self) -> ModelClient:
        """Load the SDK and make a client. Loading takes seconds of CPU and tens of megabytes."""

    @property
    def _client(self) -> ModelClient:
        with self._lock:
            if self._open_client is None:
                self._open_client = self._connect()
            return self._open_client

    # --- Scripts

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ProposedScript:
        """Have the model write a script, or a corrected one."""
        model_request = self._script_request(
            "script" if correction is None else "correction",
            serialization.serialize_script_request(request, correction),
            additions=[] if correction is None else ["correction"],
            language=language_instruction("the intent, unless it asks for another", request.locale),
            schema=schemas.POLL if request.type == "poll" else schemas.CONVO,
        )
        return self._client.send(
            model_request, lambda response: read_script(response, request), deadline=self._deadline()
        )

    def revise_script(self, request: RevisionRequest, correction: Correction | None = None) -> ProposedScript:
        """Have the model change a script, or a corrected change."""
        model_request = self._script_request(
            "revision",
            serialization.serialize_revision_request(request, correction),
            additions=["revision"] if correction is None else ["revision", "correction"],
            language=language_instruction("the script, unless the instruction asks for another", None),
            schema=schemas.REVISED_POLL if request.type == "poll" else schemas.REVISED_CONVO,
        )
        return self._client.send(
            model_request, lambda response: read_revision(response, request), deadline=self._deadline()
        )

    def _script_request(
        self,
        purpose: str,
        data: Mapping[str, object],
        *,
        additions: Sequence[str],
        language: str,
        schema: Mapping[str, object],
    ) -> ModelRequest:
        return ModelRequest(
            purpose=purpose,
            model=self._script_model,
            prompt=build_prompt("script", data, additions=additions, language=language),
            schema=schema,
            max_tokens=self.max_tokens,
            seconds=SECONDS_FOR_A_SCRIPT,
            effort="medium",
        )

    def review_script(self, blocks: Sequence[Mapping[str, object]], locale: str | None) -> Sequence[Remark]:
        """Have the model point out weaknesses of questions."""
        prompt = build_prompt(
            "review",
            serialization.serialize_review(blocks),
            language=language_instruction("the questions", locale),
        )
        return self._client.send(
            self._text_request("review", prompt, schemas.REVIEW),
            lambda response: questions.read_remarks(response, count=len(blocks)),
            deadline=self._deadline(),
        )

    # --- Texts

    def name_themes(self, sample: TextSample) -> Sequence[TextTheme]:
        """Have the model name themes. If the model refuses the sample, the model gets each half of the
        sample.
        """
        deadline = self._deadline()
        answers = _shortened(sample.answers, self.max_characters)

        def request(some: Sequence[str], named: Sequence[TextTheme]) -> list[TextTheme]:
            known = [*sample.known_themes, *named]
            most = sample.max_new_themes - len(named)
            prompt = build_prompt(
                "themes",
                serialization.serialize_sample(replace(sample, max_new_themes=most), some, known),
                language=language_instruction("most answers", sample.locale),
            )
            return self._client.send(
                self._text_request("themes", prompt, schemas.THEMES, seconds=SECONDS_FOR_TEXTS),
                lambda response: read_themes(response, known=known, most=most),
                deadline=deadline,
            )

        if not answers or sample.max_new_themes <= 0:
            return []
        return name_in_halves(answers, request)

    def assign_themes(self, batch: TextBatch) -> Sequence[TextReading | None]:
        """Have the model read a batch, in several requests if it is long."""
        deadline = self._deadline()

        def request_piece(piece: Piece) -> dict[int, TextReading]:
            return self._client.send(
                self._assignment(batch, piece),
                lambda response: read_piece(response, batch, piece),
                deadline=deadline,
            )

        min_seconds = SECONDS_FOR_TEXTS / 2
        return assign_in_pieces(
            batch,
            request_piece,
            max_characters=self.max_characters,
            has_time=lambda: deadline - self._clock() > min_seconds,
        )

    def _assignment(self, batch: TextBatch, piece: Piece) -> ModelRequest:
        codebook = serialization.serialize_codebook(batch)
        answers = serialization.serialize_answers({number: batch.answers[number] for number in piece})
        language = language_instruction("the answers", batch.locale)
        prompt = build_prompt("assignment", answers, shared=codebook, language=language)
        tokens = min(self.max_tokens, _TOKENS_BESIDE_TEXTS + _TOKENS_PER_TEXT * len(piece))
        return self._text_request(
            "assignment", prompt, schemas.ASSIGNMENT, seconds=SECONDS_FOR_TEXTS, max_tokens=tokens
        )

    def begin_bulk(self, batches: Sequence[TextBatch]) -> str | None:
        """Send all batches in one request, each as one piece; None if the API has no bulks."""
        requests = [self._assignment(batch, range(len(batch.answers))) for batch in batches]
        return self._client.begin_bulk(requests)

    def look_at_bulk(self, bulk_id: str) -> BulkState:
        """Return the progress of a bulk."""
        return self._client.look_at_bulk(bulk_id)

    def end_bulk(
        self, bulk_id: str, batches: Sequence[TextBatch]
    ) -> Sequence[Sequence[TextReading | None] | None]:
        """Return the readings of the batches; None for a batch whose response is unusable."""

        def reader(batch: TextBatch) -> Callable[[JsonObject], Sequence[TextReading | None]]:
            def read(response: JsonObject) -> Sequence[TextReading | None]:
                found = read_piece(response, batch, range(len(batch.answers)))
                return [found.get(number) for number in range(len(batch.answers))]

            return read

        return self._client.end_bulk(
            bulk_id, [reader(batch) for batch in batches], model=self._text_model, purpose="assignment"
        )

    def cancel_bulk(self, bulk_id: str) -> None:
        """Stop a bulk."""
        self._client.cancel_bulk(bulk_id)

    # --- Figures

    def summarize_texts(self, figures: TextFigures) -> str:
        """Have the model summarize the answers to one open question."""
        return self._summarize(
            "summary_of_texts",
            serialization.serialize_text_figures(figures),
            language=language_instruction("the themes", figures.locale),
            max_length=MAX_TEXTS_SUMMARY,
        )

    def summarize_analysis(self, overview: AnalysisOverview) -> str:
        """Have the model summarize a whole analysis."""
        return self._summarize(
            "summary",
            serialization.serialize_overview(overview),
            language=language_instruction("the questions", overview.locale),
            max_length=MAX_ANALYSIS_SUMMARY,
        )

    def _summarize(self, name: str, data: Mapping[str, object], *, language: str, max_length: int) -> str:
        def read_summary(response: JsonObject) -> str:
            summary = as_plain_sentences(response.get("summary"), most=max_length)
            if not summary:
                raise malformed()
            return summary

        prompt = build_prompt(name, data, language=language)
        request = self._text_request(name, prompt, schemas.SUMMARY)
        return self._client.send(request, read_summary, deadline=self._deadline())

    def answer_question(self, question: ResultsQuestion) -> Sequence[Claim]:
        """Have the model answer a question from the figures."""
        if not question.figures:
            return []
        prompt = build_prompt(
            "results_question",
            serialization.serialize_question(question),
            language=language_instruction("the question", question.locale),
        )
        return self._client.send(
            self._text_request("results_question", prompt, schemas.CLAIMS),
            questions.read_claims,
            deadline=self._deadline(),
        )

    # --- Conversations

    def ask_further(self, request: FollowUpRequest) -> str | None:
        """Have the model write a further question, within seconds and without a retry."""
        prompt = build_prompt(
            "further_question",
            serialization.serialize_follow_up(request),
            language=language_instruction("the answer", request.locale),
        )
        model_request = self._text_request(
            "further_question",
            prompt,
            schemas.FURTHER_QUESTION,
            seconds=SECONDS_FOR_A_FURTHER_QUESTION,
            max_tokens=_TOKENS_FOR_A_FURTHER_QUESTION,
            may_retry=False,
        )
        return self._client.send(
            model_request,
            lambda response: questions.read_further_question(response, request),
            deadline=self._clock() + SECONDS_FOR_A_FURTHER_QUESTION,
        )

    def _text_request(
        self,
        purpose: str,
        prompt: Prompt,
        schema: Mapping[str, object],
        *,
        seconds: float | None = None,
        max_tokens: int = _TOKENS_FOR_A_SUMMARY,
        **fields: Any,
    ) -> ModelRequest:
        return ModelRequest(
            purpose=purpose,
            model=self._text_model,
            prompt=prompt,
            schema=schema,
            max_tokens=max_tokens,
            seconds=SECONDS_FOR_A_SUMMARY if seconds is None else seconds,
            **fields,
        )

    def _deadline(self) -> float:
        return self._clock() + SECONDS_PER_CALL


def _shortened(answers: Sequence[str], max_characters: int) -> list[str]:
    """Return the beginnings of as many answers as fit into `max_characters`. The sample has no order."""
    shortened: list[str] = []
    for answer in answers:
        text = truncate(answer, most=_MAX_SAMPLED)
        max_characters -= len(text)
        if max_characters < 0:
            break
        shortened.append(text)
    return shortened
