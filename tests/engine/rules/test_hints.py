"""Warnings about valid scripts that look like a mistake of their author."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.engine.language import references
from surveys.engine.rules.hints import hints
from surveys.engine.rules.warnings import MAX_TOKENS, MAX_WARNINGS, warnings
from surveys.engine.script import Block, Bucket
from tests.support.cases import try_each
from tests.support.engine.script_builder import script

TEXT = {"type": "open_text", "name": "why"}
CHOICE: dict[str, Any] = {"type": "single_punch", "options": ["a", "b"]}
QUIZ = CHOICE | {"correct_answer_ids": [10]}


def found(made: Any) -> list[tuple[object, object]]:
    return [(each["field"], each["code"]) for each in hints(made)]


@try_each(
    ("prompt", "expected"),
    [
        ("Because of [why]?", []),
        ("Because of [WHY]?", []),
        ("Because of [q1]?", []),
        ("Hello [UserName], you have [month_total_xp].", []),
        ("You said [answer].", []),
        ("No [1] token here]", []),
        ("No [1] token [ here", ["unclosed_token"]),
        ("Hello [UserName, you", ["unclosed_token"]),
        ("About [wy [why]?", ["unclosed_token"]),
        ("Is it [wy]?", ["unknown_token"]),
        ("[wy] [wy] [wx]", ["unknown_token", "unknown_token"]),
        ("It is [score].", ["unknown_token"]),
        ("About [itself]?", ["empty_token"]),
        ("About [later]?", ["empty_token"]),
        ("About [hello]?", ["empty_token"]),
    ],
)
def test_tokens_in_a_prompt_are_known_and_answered_before_it(prompt: str, expected: list[str]) -> None:
    made = script(
        TEXT,
        {"type": "content_block", "name": "hello"},
        TEXT | {"name": "itself", "prompt": prompt},
        TEXT | {"name": "later"},
    )

    assert found(made) == [("blocks[2].prompt", code) for code in expected]


def test_feedback_may_name_the_block_that_was_just_answered() -> None:
    feedback = {"name": "own", "when_correct": "Yes, [own].", "when_incorrect": "No, [later]."}
    made = script(QUIZ | feedback, TEXT | {"name": "later"})

    assert found(made) == [("blocks[0].when_incorrect", "empty_token")]


def test_the_outro_may_name_every_block_and_what_is_scored() -> None:
    thanks = Block(type="content_block", section="outro", name="thanks", prompt="[why] [score_art] [wy]")
    made = script(TEXT, scoring_enabled=True, buckets=(Bucket("Art"),), outro=(thanks,))

    assert found(made) == [("blocks[1].prompt", "unknown_token")]


def test_a_choice_without_a_right_answer_stands_out_among_others_that_have_one() -> None:
    points = CHOICE | {"options": [{"value": "a", "score_values": {"art": 1}}, "b"]}

    made = script(QUIZ, CHOICE, TEXT, points, scoring_enabled=True)

    assert found(made) == [("blocks[1].correct_answer_ids", "no_correct_answer")]
    assert found(script(CHOICE, TEXT, scoring_enabled=True)) == []
    assert found(script(QUIZ, CHOICE, scoring_enabled=False)) == []


def test_a_token_like_an_automatic_name_is_left_to_the_warning_about_ambiguous_names() -> None:
    made = script(TEXT | {"name": "q0"}, TEXT | {"name": "q1", "prompt": "[q0] [Q0] [q2]"})

    assert [each["message"] for each in hints(made)] == [
        "[q2] is answered only after this text, so nothing is shown in its place.",
    ]


# --- The largest scripts ------------------------------------------------------------------------------


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names whose meaning was looked up."""
    names: list[str] = []
    plain = references.resolve

    def resolve(name: str, made: Any) -> int | str | None:
        names.append(name)
        return plain(name, made)

    monkeypatch.setattr(references, "resolve", resolve)
    return names


def test_hints_are_as_many_as_warnings_and_no_others_are_looked_for(resolved: list[str]) -> None:
    prompt = "".join(f"[z{n}]" for n in range(500))

    told = hints(script(*[TEXT | {"name": f"why{n}", "prompt": prompt} for n in range(20)]))

    assert [each["code"] for each in told] == ["unknown_token"] * MAX_WARNINGS
    assert len(resolved) == MAX_WARNINGS


def test_so_many_tokens_of_a_script_are_looked_at(resolved: list[str]) -> None:
    known = "".join(f"[why{n}]" for n in range(500))
    asked = [TEXT | {"name": f"why{n}"} for n in range(500)]
    made = script(*asked, *[{"type": "content_block", "prompt": known, "name": f"n{n}"} for n in range(30)])

    assert hints(made) == []
    assert len(resolved) == MAX_TOKENS
    resolved.clear()
    warned = warnings(made, uses_xp=False, is_anonymous=False, known_achievements=None)
    assert warned == []
    assert len(resolved) <= MAX_TOKENS + 1_000


def test_a_calculation_with_a_question_that_may_be_hidden_is_told_that_it_counts_as_0() -> None:
    wizards = {"precondition": 'q0 = "a"'}
    hours = {"type": "open_numeric", "name": "hours"}
    monthly = {"type": "calculated", "name": "monthly", "calculated_formula": "[hours] * 4 + [hours]"}

    hidden = script(CHOICE, hours | wizards, monthly)
    alike = script(CHOICE, hours | wizards, monthly | wizards)
    always = script(CHOICE, hours, monthly)

    assert found(hidden) == [("blocks[2].calculated_formula", "counts_as_zero")]
    assert found(alike) == found(always) == []
