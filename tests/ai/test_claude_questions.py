"""Questions about results, reviews of scripts, and further questions: what of a response is used."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.ai.claude import ClaudeProvider
from surveys.ai.provider import (
    Claim,
    FollowUpRequest,
    ProviderError,
    ReferencedFigure,
    Remark,
    ResultsQuestion,
)
from tests.support.ai.improvisation import data_in
from tests.support.ai.loopback import Loopback

FIGURES = [
    ReferencedFigure("b4.mean", "Average of “How do you like it?” (1 to 5)", "3.82"),
    ReferencedFigure("b4.count", "Answers to “How do you like it?”", "212"),
]
QUESTION = ResultsQuestion("Do people like it?", FIGURES)
FOLLOW_UP = FollowUpRequest("What should we change?", "The evenings")


def claim(text: str, *references: Any) -> dict[str, Any]:
    return {"text": text, "references": list(references)}


# --- Questions about results ----------------------------------------------------------------------------


def test_an_answer_is_claims_with_the_references_of_their_figures(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    """Rule 10.32."""
    anthropic.queue({"claims": [claim("They rate it 3.8 of 5.", "b4.mean"), claim("All 212.", "b4.count")]})

    assert claude.answer_question(QUESTION) == [
        Claim("They rate it 3.8 of 5.", ("b4.mean",)),
        Claim("All 212.", ("b4.count",)),
    ]
    assert data_in(anthropic.requests[0].body) == {
        "question": "Do people like it?",
        "figures": [
            {"reference": "b4.mean", "text": "Average of “How do you like it?” (1 to 5)", "value": "3.82"},
            {"reference": "b4.count", "text": "Answers to “How do you like it?”", "value": "212"},
        ],
    }


@pytest.mark.parametrize("text", [" ", "See https://example.org."])
def test_a_claim_without_plain_words_is_dropped(
    claude: ClaudeProvider, anthropic: Loopback, text: str
) -> None:
    """Rule 10.32."""
    said = claim("Their average is 3.82.", "b9.mean", "b4.mean", "b4.mean")
    anthropic.queue({"claims": [claim(text, "b4.mean"), said]})

    # Whether figures bear a claim out is checked by the services.
    assert claude.answer_question(QUESTION) == [Claim("Their average is 3.82.", ("b9.mean", "b4.mean"))]


def test_without_figures_no_model_is_asked(claude: ClaudeProvider, anthropic: Loopback) -> None:
    assert claude.answer_question(ResultsQuestion("Why?", [])) == []
    assert anthropic.requests == ()


@pytest.mark.parametrize("response", [{}, {"claims": "none"}, {"claims": [claim("a", 5)]}, {"claims": ["a"]}])
def test_claims_of_another_form_are_refused(
    claude: ClaudeProvider, anthropic: Loopback, response: object
) -> None:
    anthropic.queue(response)

    with pytest.raises(ProviderError, match="required form"):
        claude.answer_question(QUESTION)


# --- Reviews --------------------------------------------------------------------------------------------

BLOCKS: list[dict[str, Any]] = [
    {"id": 1, "type": "content_block", "prompt": "Welcome.", "options": None, "scale": None},
    {
        "id": 2,
        "type": "single_punch",
        "prompt": "How great was it?",
        "options": [{"id": 5, "value": "a", "label": "Great"}, {"id": 6, "value": "Super"}],
    },
    {"id": 3, "type": "rating", "prompt": "How good?", "min": 1, "max": 5, "scale": {"label_left": "Poor"}},
]


def remark(position: Any, code: str, message: str = "It leads.") -> dict[str, Any]:
    return {"position": position, "code": code, "message": message}


def test_remarks_are_on_blocks_by_position(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue({"remarks": [remark(2, "too_long"), remark(1, "leading"), remark(1, "loaded")]})

    assert claude.review_script(BLOCKS, None) == [
        Remark(1, "leading", "It leads."),
        Remark(1, "loaded", "It leads."),
        Remark(2, "too_long", "It leads."),
    ]
    assert data_in(anthropic.requests[0].body) == {
        "blocks": [
            {"position": 0, "type": "content_block", "prompt": "Welcome."},
            {
                "position": 1,
                "type": "single_punch",
                "prompt": "How great was it?",
                "options": ["Great", "Super"],
            },
            {"position": 2, "type": "rating", "prompt": "How good?", "min": 1, "max": 5, "labels": ["Poor"]},
        ]
    }


def test_remarks_on_nothing_of_no_known_kind_or_without_words_are_dropped(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.queue(
        {
            "remarks": [
                remark(3, "leading"),
                remark(-1, "leading"),
                remark(None, "leading"),
                remark(1, "ugly"),
                remark(1, "leading", " "),
                remark(1, "leading", "First."),
                remark(1, "leading", "Second."),
            ]
        }
    )

    assert claude.review_script(BLOCKS, None) == [Remark(1, "leading", "First.")]


# --- Further questions ----------------------------------------------------------------------------------


def test_a_short_answer_gets_a_further_question(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue({"is_clear": False, "question": " What about them? "})
    request = FollowUpRequest("What should we change?", "The evenings", earlier=[("Which?", "All")])

    assert claude.ask_further(request) == "What about them?"
    assert data_in(anthropic.requests[0].body) == {
        "question": "What should we change?",
        "answer": "The evenings",
        "earlier": [{"question": "Which?", "answer": "All"}],
    }
    assert "Write in the language of the answer." in anthropic.requests[0].system


@pytest.mark.parametrize(
    "question",
    [
        "¿Qué cambiarías de las tardes?",
        "Was genau an den Abenden?",
        "晚上的什么呢？",
        "ما الذي تقصده؟",
        "What do you think is missing?",
    ],
)
def test_a_further_question_may_be_in_any_language(
    claude: ClaudeProvider, anthropic: Loopback, question: str
) -> None:
    anthropic.queue({"is_clear": False, "question": question})

    assert claude.ask_further(FOLLOW_UP) == question


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Tell me more.",
        "Thanks! What about them?",
        "What? Why?",
        "We will change that, but when?",
        "I think so too, but why?",
        "Es tut uns leid, aber was genau?",
        "Désolé, mais pourquoi ?",
        "Lo sentimos, ¿qué pasó?",
        "What about them, see www.example.org?",
        "Can you write to me@example.org about it?",
        "What about @everyone?",
        "Did you see survey.example.travel?",
        "Did you see example.org/help about it?",
        "Would you tell us at +49 170 123 45 67?",
        "What should we change?",
        "WHICH?",
        f"What {'x' * 300}?",
    ],
)
def test_no_further_question_is_better_than_a_bad_one(
    claude: ClaudeProvider, anthropic: Loopback, question: str
) -> None:
    """Rule 10.33."""
    anthropic.queue({"is_clear": False, "question": question})

    assert claude.ask_further(FollowUpRequest(FOLLOW_UP.prompt, "No.", earlier=[("Which?", "All")])) is None


def test_nobody_waits_for_a_second_attempt(
    claude: ClaudeProvider, anthropic: Loopback, pauses: list[float]
) -> None:
    anthropic.queue_error(529, "overloaded_error")

    with pytest.raises(ProviderError, match="overloaded"):
        claude.ask_further(FOLLOW_UP)

    assert len(anthropic.requests) == 1
    assert pauses == []


def test_a_silence_ends_after_seconds(
    claude: ClaudeProvider, anthropic: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surveys.ai.models.provider.SECONDS_FOR_A_FURTHER_QUESTION", 0.2)
    anthropic.queue_silence()

    with pytest.raises(ProviderError, match="too long"):
        claude.ask_further(FOLLOW_UP)
