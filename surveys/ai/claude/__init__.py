"""The Anthropic API as a provider of AI: its models draft scripts, sort texts, and put figures into words."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from surveys.ai.claude import drafts, prompting, readings, schemas, shapes, telling
from surveys.ai.claude.question import Question
from surveys.ai.claude.readings import Told
from surveys.ai.claude.shapes import Part
from surveys.ai.provider import (
    Correction,
    Overview,
    Reading,
    ScriptDraft,
    ScriptRequest,
    TextBatch,
    TextFigures,
)

if TYPE_CHECKING:
    from surveys.ai.claude.line import Line

FOR_SCRIPTS = "claude-sonnet-5-5"
FOR_TEXTS = "claude-haiku-5-5"

# Of one call of a method, retries and pieces included: below the lease of a job (surveys/services/jobs.py).
SECONDS_IN_ALL = 120.0
SECONDS_FOR_A_SCRIPT = 100.0
SECONDS_FOR_TEXTS = 60.0
SECONDS_FOR_A_SUMMARY = 40.0
# With room for what the model thinks before. More than this it does not write in the time there is.
_MOST_TOKENS = 16_000
_TOKENS_FOR_A_SUMMARY = 4_000
_TOKENS_FOR_A_TEXT = 120
_TOKENS_BESIDE_TEXTS = 4_000


class Claude:
    """The provider `anthropic`. All threads of a worker share one.

    `model` takes the place of both models. `pause` and `clock` are for tests.
    """

    name = "anthropic"
    texts_at_once = 100

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
        self._for_scripts, self._for_texts = model or FOR_SCRIPTS, model or FOR_TEXTS
        self._pause, self._clock = pause, clock
        self._lock = threading.Lock()
        self._open: Line | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The next question opens new ones."""
        with self._lock:
            line, self._open = self._open, None
        if line is not None:
            line.close()

    @property
    def _line(self) -> Line:
        with self._lock:
            if self._open is None:
                # The SDK takes 2.2 seconds of CPU and 68 MB: only a worker that asks something pays for that.
                from surveys.ai.claude.line import Line  # noqa: PLC0415

                self._open = Line(
                    api_key=self._api_key, base_url=self._base_url, pause=self._pause, clock=self._clock
                )
            return self._open

    # What is asked of a provider

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ScriptDraft:
        question = Question(
            purpose="script" if correction is None else "correction",
            model=self._for_scripts,
            prompt=prompting.written(
                "script",
                drafts.told(request, correction),
                addition=None if correction is None else "correction",
                language=prompting.language_of("the intent, unless it asks for another", request.locale),
            ),
            schema=schemas.POLL if request.type == "poll" else schemas.CONVO,
            max_tokens=_MOST_TOKENS,
            seconds=SECONDS_FOR_A_SCRIPT,
            effort="medium",
        )
        return self._line.ask(
            question, lambda answer: drafts.read(answer, request), deadline=self._deadline()
        )

    def read_texts(self, batch: TextBatch) -> Reading:
        deadline = self._deadline()

        def ask(told: Told, piece: range) -> None:
            question = self._reading(told, piece)
            self._line.ask(question, lambda answer: readings.note(answer, told, piece), deadline=deadline)

        least = SECONDS_FOR_TEXTS / 2
        return readings.read(batch, ask, has_time=lambda: deadline - self._clock() > least)

    def _reading(self, told: Told, piece: range) -> Question:
        return Question(
            purpose="texts",
            model=self._for_texts,
            prompt=prompting.written(
                "texts",
                readings.told_to_model(told, piece),
                language=prompting.language_of("most answers", told.batch.locale),
            ),
            schema=schemas.READING,
            max_tokens=min(_MOST_TOKENS, _TOKENS_BESIDE_TEXTS + _TOKENS_FOR_A_TEXT * len(piece)),
            seconds=SECONDS_FOR_TEXTS,
        )

    def summarize_texts(self, figures: TextFigures) -> str:
        return self._summary(
            "summary_of_texts",
            telling.of_texts(figures),
            language=prompting.language_of("the themes", figures.locale),
            most=telling.MAX_TEXTS_SUMMARY,
        )

    def summarize(self, overview: Overview) -> str:
        return self._summary(
            "summary",
            telling.of_all(overview),
            language=prompting.language_of("the questions", overview.locale),
            most=telling.MAX_SUMMARY,
        )

    def _summary(self, name: str, data: dict[str, object], *, language: str, most: int) -> str:
        def read(answer: Part) -> str:
            summary = shapes.sentences(answer.get("summary"), most=most)
            if not summary:
                raise shapes.misshaped()
            return summary

        question = Question(
            purpose=name,
            model=self._for_texts,
            prompt=prompting.written(name, data, language=language),
            schema=schemas.SUMMARY,
            max_tokens=_TOKENS_FOR_A_SUMMARY,
            seconds=SECONDS_FOR_A_SUMMARY,
        )
        return self._line.ask(question, read, deadline=self._deadline())

    def _deadline(self) -> float:
        return self._clock() + SECONDS_IN_ALL
