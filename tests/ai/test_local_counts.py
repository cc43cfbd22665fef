"""Numbers in intents, in digits and in words."""

from __future__ import annotations

from surveys.ai.local.drafts import counts
from surveys.ai.local.drafts.counts import CountRange
from tests.support.cases import try_each


@try_each(
    ("intent", "low", "high"),
    [
        ("5 questions", 5, 5),
        ("five questions", 5, 5),
        ("a 10 question quiz", 10, 10),
        ("a 10-question quiz", 10, 10),
        ("ask 5 short multiple-choice questions", 5, 5),
        ("ten (10) questions", 10, 10),
        ("Questions: 7", 7, 7),
        ("the number of questions is 4", 4, 4),
        ("a single question", 1, 1),
        ("a couple of questions", 2, 2),
        ("a dozen questions", 12, 12),
        ("half a dozen questions", 6, 6),
        ("twenty-five questions", 25, 25),
        ("a hundred questions", 100, 100),
        ("1000 questions", 100, 100),
        ("5-10 questions", 5, 10),
        ("between 5 and 10 questions", 5, 10),
        ("10 to 5 questions", 5, 10),
        ("at least 4 questions", 4, 100),
        ("more than 4 questions", 5, 100),
        ("up to 4 questions", 1, 4),
        ("no more than 3 questions", 1, 3),
        ("fewer than 4 questions", 1, 3),
        ("a 2-minute survey for 8 people with 5 questions", 5, 5),
        ("3 options and 6 questions", 6, 6),
    ],
)
def test_a_number_of_questions_is_understood(intent: str, low: int, high: int) -> None:
    assert counts.question_count(intent) == CountRange(low, high)


@try_each(
    "intent",
    [
        "a survey",
        "0 questions",
        "5 people",
        "question 5",
        "the 7 dwarfs",
        "1,000 questions",
        "a few questions",
    ],
)
def test_other_numbers_are_not_a_number_of_questions(intent: str) -> None:
    assert counts.question_count(intent) is None


@try_each(
    ("intent", "number"),
    [
        ("3 options", 3),
        ("with four choices", 4),
        ("6 questions with 5 answers each", 5),
        ("1 option", 2),
        ("99 options", 25),
    ],
)
def test_a_number_of_options_is_understood(intent: str, number: int) -> None:
    assert counts.option_count(intent) == CountRange(number, number)
