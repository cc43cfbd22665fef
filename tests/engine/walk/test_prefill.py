"""Answers that were filled in ahead: which of them count, and which questions they pass."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.engine.script import Option
from surveys.engine.walk import prefill, runner
from surveys.engine.walk.prefill import Prefill
from tests.support.cases import try_each
from tests.support.engine import script_builder

CHOICE = {"type": "single_punch", "options": ["red", {"value": "g", "label": "Green"}]}
SEVERAL = {"type": "multi_punch", "options": ["red", "green", "blue"]}
RANKING = {"type": "ranking", "options": ["red", "green", "blue"]}
TEXT = {"type": "open_text"}
SAYING = {"type": "content_block"}


def reply(raw: dict[str, Any], *texts: str) -> Any:
    script = script_builder.script(raw)
    return prefill.reply_to(script, script.blocks[0], Prefill({1: texts}))


def passed(script: Any, **texts: str) -> Any:
    """The ids of the blocks that are passed from the start."""
    ahead = Prefill({int(key[1:]): [text] for key, text in texts.items()}, skips=True)
    return prefill.passed(script, runner.begin(script).state, ahead).path


@try_each(
    ("raw", "texts", "expected"),
    [
        (CHOICE, ["red"], {"option_ids": [10]}),
        (CHOICE, ["g"], {"option_ids": [11]}),
        (CHOICE, ["Green"], {"option_ids": [11]}),
        (CHOICE, ["red", "g"], {"option_ids": [11]}),
        (CHOICE, ["RED"], {"option_ids": [10]}),
        (CHOICE, ["green"], {"option_ids": [11]}),
        ({**CHOICE, "options": ["go", "Go"]}, ["Go"], {"option_ids": [11]}),
        (SEVERAL, ["RED,Blue"], {"option_ids": [10, 12]}),
        (SEVERAL, ["red,blue"], {"option_ids": [10, 12]}),
        (SEVERAL, ["blue", " red"], {"option_ids": [10, 12]}),
        (SEVERAL, ["red,,"], {"option_ids": [10]}),
        ({**SEVERAL, "options": ["a,b", "c"]}, ["a,b"], {"option_ids": [10]}),
        ({**SEVERAL, "options": ["a,b", "c"]}, ["a,b", "c"], {"option_ids": [10, 11]}),
        (RANKING, ["blue,red,green"], {"option_ids": [12, 10, 11]}),
        ({**RANKING, "rank_top_n": 2}, ["blue,red"], {"option_ids": [12, 10]}),
        ({"type": "nps"}, ["9"], {"number": "9"}),
        ({"type": "rating"}, ["5"], {"number": "5"}),
        ({"type": "open_numeric", "max": 20}, ["20"], {"number": "20"}),
        (TEXT, [" Ann "], {"text": "Ann"}),
        (TEXT, ["x", "y"], {"text": "y"}),
    ],
)
def test_what_answers_a_question_is_filled_in(raw: Any, texts: list[str], expected: Any) -> None:
    assert reply(raw, *texts) == expected


@try_each(
    ("raw", "texts"),
    [
        (CHOICE, ["blue"]),
        ({**CHOICE, "options": ["go", "Go"]}, ["GO"]),
        (CHOICE, [""]),
        (CHOICE, ["red,g"]),
        (SEVERAL, ["red,red"]),
        (SEVERAL, ["red,pink"]),
        (SEVERAL, [","]),
        ({**SEVERAL, "min": 2}, ["red"]),
        ({**SEVERAL, "max": 1}, ["red,blue"]),
        ({**SEVERAL, "options": ["a,b", "c"]}, ["a,b,c"]),
        (RANKING, ["blue,red"]),
        ({**RANKING, "rank_top_n": 2}, ["blue,red,green"]),
        ({"type": "nps"}, ["11"]),
        ({"type": "nps"}, ["nine"]),
        ({"type": "open_numeric", "max": 20}, ["21"]),
        ({"type": "open_numeric"}, ["NaN"]),
        (TEXT, ["  "]),
        (TEXT, ["a\x00b"]),
        (TEXT, ["x" * 10_001]),
        (SAYING, ["x"]),
    ],
)
def test_what_does_not_answer_its_question_is_left_out(raw: Any, texts: list[str]) -> None:
    assert reply(raw, *texts) is None


def test_questions_that_are_answered_ahead_are_passed_up_to_the_first_that_is_not() -> None:
    script = script_builder.script(CHOICE, TEXT, TEXT, CHOICE)

    assert passed(script, b1="red", b2="x", b4="red") == (1, 2)


def test_without_skip_nothing_is_passed() -> None:
    script = script_builder.script(TEXT, TEXT)
    state = runner.begin(script).state

    assert prefill.passed(script, state, Prefill({1: ["a"]})) == state


def test_a_value_that_does_not_fit_passes_nothing() -> None:
    assert passed(script_builder.script(CHOICE, TEXT), b1="pink") == ()


def test_the_last_question_waits() -> None:
    assert passed(script_builder.script(TEXT, TEXT), b1="a", b2="b") == (1,)


def test_a_question_before_a_last_text_is_passed_because_the_text_waits() -> None:
    assert passed(script_builder.script(TEXT, SAYING), b1="a") == (1,)


def test_a_text_is_never_passed() -> None:
    assert passed(script_builder.script(SAYING, TEXT, TEXT), b2="a") == ()


def test_a_poll_s_question_waits() -> None:
    assert passed(script_builder.script(CHOICE, SAYING, is_poll=True), b1="red") == ()


def test_a_ranking_waits_for_a_touch() -> None:
    assert passed(script_builder.script(RANKING, TEXT), b1="blue,red,green") == ()


def test_a_graded_question_waits_while_scoring_is_on() -> None:
    graded = {**CHOICE, "correct_answer_ids": [10]}

    assert passed(script_builder.script(graded, TEXT, scoring_enabled=True), b1="red") == ()
    assert passed(script_builder.script(graded, TEXT), b1="red") == (1,)


@try_each("earlier", [{"text": "other"}, {"skipped": True}])
def test_a_question_with_an_answer_waits_after_a_step_back(earlier: Any) -> None:
    script = script_builder.script(TEXT, TEXT)
    state = runner.back(script, runner.answer(script, runner.begin(script).state, earlier).state).state

    assert prefill.given_reply(script, state, Prefill({1: ["a"]}, skips=True)) is None


def test_a_hidden_question_is_not_asked_and_its_value_counts_for_nothing() -> None:
    hidden = {**TEXT, "precondition": 'Q0 = "red"'}
    script = script_builder.script(CHOICE, hidden, TEXT, TEXT)

    assert passed(script, b1="red", b2="x", b3="y") == (1, 3)


def test_the_names_of_options_are_read_once_for_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    shown = Option.display_text.fget  # type: ignore[attr-defined]

    def display_text(option: Option) -> str:
        read.append(option.value)
        return shown(option)

    several = {**SEVERAL, "options": [f"o{n}" for n in range(50)]}
    everything = ",".join(f"O{n}" for n in range(50))
    unknown = ",".join("x" for _ in range(500))
    monkeypatch.setattr(Option, "display_text", property(display_text))

    replies = [reply(several, everything), reply(several, unknown)]

    assert replies == [{"option_ids": list(range(10, 60))}, None]
    assert len(read) == 2 * 50
