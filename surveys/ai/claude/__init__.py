"""The provider `anthropic`: Claude models draft scripts, read texts and write summaries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from surveys.ai.claude import schemas, serialization
from surveys.ai.claude.batch_reading import PartialReading, Piece, read_in_pieces
from surveys.ai.claude.json_values import JsonObject, as_sentences, malformed
from surveys.ai.claude.prompts import build_prompt, language_instruction
from surveys.ai.claude.request import ModelRequest
from surveys.ai.claude.script_responses import read_script
from surveys.ai.provider import (
    ANTHROPIC,
    AnalysisOverview,
    BatchReading,
    Correction,
    ProposedScript,
    ScriptRequest,
    TextBatch,
    TextFigures,
)

if TYPE_CHECKING:
    from surveys.ai.claude.client import ProviderClient

SCRIPT_MODEL = "claude-sonnet-5-5"
TEXT_MODEL = "claude-haiku-5-5"

# For one call of a method with all its retries and pieces: less than the lease of a job.
SECONDS_PER_CALL = 120.0
# For one request.
SECONDS_FOR_A_SCRIPT = 100.0
SECONDS_FOR_TEXTS = 60.0
SECONDS_FOR_A_SUMMARY = 40.0
# These include the model's thinking. A model cannot write more than this in the time it has.
_MAX_TOKENS = 16_000
_TOKENS_FOR_A_SUMMARY = 4_000
_TOKENS_PER_TEXT = 120
_TOKENS_BESIDE_TEXTS = 4_000
MAX_TEXTS_SUMMARY = 800  # characters
MAX_ANALYSIS_SUMMARY = 1_500


class ClaudeProvider:
    """The provider `anthropic`. All threads of a worker share one instance.

    `model` replaces both models. `pause` and `clock` are for tests.
    """

    name = ANTHROPIC
    max_batch_size = 100

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        model: str | None = None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api_key, self._base_url = api_key, base_url
        self._script_model, self._text_model = model or SCRIPT_MODEL, model or TEXT_MODEL
        self._pause, self._clock = pause, clock
        self._lock = threading.Lock()
        self._open_client: ProviderClient | None = None

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

    @property
    def _client(self) -> ProviderClient:
        with self._lock:
            if self._open_client is None:
                # Loading the SDK takes 2.2 seconds of CPU and 68 MB, so we load it with the first request.
                from surveys.ai.claude.client import ProviderClient  # noqa: PLC0415

                self._open_client = ProviderClient(
                    api_key=self._api_key, base_url=self._base_url, pause=self._pause, clock=self._clock
                )
            return self._open_client

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ProposedScript:
        """Have the model write a script, or a corrected one."""
        model_request = ModelRequest(
            purpose="script" if correction is None else "correction",
            model=self._script_model,
            prompt=build_prompt(
                "script",
                serialization.serialize_script_request(request, correction),
                addition=None if correction is None else "correction",
                language=language_instruction("the intent, unless it asks for another", request.locale),
            ),
            schema=schemas.POLL if request.type == "poll" else schemas.CONVO,
            max_tokens=_MAX_TOKENS,
            seconds=SECONDS_FOR_A_SCRIPT,
            effort="medium",
        )
        return self._client.send(
            model_request, lambda response: read_script(response, request), deadline=self._deadline()
        )

    def read_texts(self, batch: TextBatch) -> BatchReading:
        """Have the model read a batch, in several requests if it is long."""
        deadline = self._deadline()

        def request_piece(reading: PartialReading, piece: Piece) -> None:
            self._client.send(
                self._texts_request(reading, piece),
                lambda response: reading.add(response, piece),
                deadline=deadline,
            )

        min_seconds = SECONDS_FOR_TEXTS / 2
        return read_in_pieces(batch, request_piece, has_time=lambda: deadline - self._clock() > min_seconds)

    def _texts_request(self, reading: PartialReading, piece: Piece) -> ModelRequest:
        return ModelRequest(
            purpose="texts",
            model=self._text_model,
            prompt=build_prompt(
                "texts",
                reading.serialize(piece),
                language=language_instruction("most answers", reading.batch.locale),
            ),
            schema=schemas.BATCH_READING,
            max_tokens=min(_MAX_TOKENS, _TOKENS_BESIDE_TEXTS + _TOKENS_PER_TEXT * len(piece)),
            seconds=SECONDS_FOR_TEXTS,
        )

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

    def _summarize(self, name: str, data: dict[str, object], *, language: str, max_length: int) -> str:
        def read_summary(response: JsonObject) -> str:
            summary = as_sentences(response.get("summary"), most=max_length)
            if not summary:
                raise malformed()
            return summary

        request = ModelRequest(
            purpose=name,
            model=self._text_model,
            prompt=build_prompt(name, data, language=language),
            schema=schemas.SUMMARY,
            max_tokens=_TOKENS_FOR_A_SUMMARY,
            seconds=SECONDS_FOR_A_SUMMARY,
        )
        return self._client.send(request, read_summary, deadline=self._deadline())

    def _deadline(self) -> float:
        return self._clock() + SECONDS_PER_CALL
