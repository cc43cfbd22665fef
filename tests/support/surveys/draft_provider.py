"""A provider with prepared drafts, and a worker that works while a request waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from surveys import ai
from surveys.ai.provider import (
    Claim,
    Correction,
    ProposedScript,
    ProviderError,
    ResultsQuestion,
    RevisionRequest,
    ScriptRequest,
)
from surveys.services.ai_work import generation
from surveys.services.ground import jobs

INTENT = {"name": "Club evening", "type": "convo", "intent": "Ask how the club evening was, in 2 questions"}
GOOD = ProposedScript(
    blocks=[
        {"type": "rating", "prompt": "How was the club evening?", "name": "evening"},
        {"type": "open_text", "prompt": "What should we change?", "name": "change"},
    ]
)
BAD = ProposedScript(blocks=[{"type": "rating", "prompt": ""}])
QUIZ = ProposedScript(
    blocks=[
        {
            "type": "single_punch",
            "prompt": "Which piece moves in an L?",
            "options": [{"value": "Knight", "score_values": {"score": 1}}, {"value": "Rook"}],
            "correct_answer_index": 0,
        }
    ],
    scoring_enabled=True,
)
POLL = ProposedScript(
    blocks=[{"type": "single_punch", "prompt": "Blitz?", "options": [{"value": "Yes"}, {"value": "No"}]}]
)

Answer = ProposedScript | Exception | Callable[[], ProposedScript]


def _unchanged(request: RevisionRequest) -> ProposedScript:
    return ProposedScript(request.blocks)


class Drafts:
    """A provider that returns prepared answers in order, and repeats the last. It stores its requests.

    It does not change scripts, unless `revise` is another function, and it finds no answers in data.
    """

    name = "anthropic"
    max_batch_size = 100

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers) or [GOOD]
        self.asked: list[tuple[ScriptRequest, Correction | None]] = []
        self.revise: Callable[[RevisionRequest], ProposedScript] = _unchanged

    def draft_script(self, request: ScriptRequest, correction: Correction | None = None) -> ProposedScript:
        self.asked.append((request, correction))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, ProposedScript) else answer()

    def revise_script(self, request: RevisionRequest, correction: Correction | None = None) -> ProposedScript:
        return self.revise(request)

    def answer_question(self, question: ResultsQuestion) -> list[Claim]:
        return []

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not asked for here.")


def down() -> ProviderError:
    return ProviderError("The AI provider is overloaded.", retry_after=45)


def provide(monkeypatch: pytest.MonkeyPatch, settings: Any, *answers: Answer) -> Drafts:
    """Install a paid provider with these answers."""
    drafts = Drafts(*answers)
    settings.AI_PROVIDER = "anthropic"
    monkeypatch.setattr(ai, "get_provider", lambda: drafts)
    return drafts


def work_while_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a worker that does the work for which a request waits."""
    monkeypatch.setattr(
        generation, "wait", lambda *, generation_id: generation.run(generation_id=generation_id)
    )


def free_model(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A model that costs nothing, and a worker that works while a request waits, also in a transaction."""
    monkeypatch.setattr(jobs, "close_connection", lambda: None)
    provide(monkeypatch, settings, POLL)
    settings.CREDITS_FOR_A_SCRIPT = settings.CREDITS_FOR_A_QUESTION = settings.CREDITS_FOR_100_TEXTS = 0
    settings.AI_JOBS_PER_COMMUNITY_AND_HOUR = 1_000_000
    work_while_waiting(monkeypatch)
