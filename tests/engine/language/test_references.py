"""The meaning of names in a script, and the names that are invalid at a block (rules 4.7 and 4.8)."""

from __future__ import annotations

import difflib
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surveys.engine.language.expressions import parse
from surveys.engine.language.names import VARIABLES
from surveys.engine.language.references import MAX_COMPARED, ReferenceProblem, check, resolve, variables
from surveys.engine.script import Block, Bucket, Script, title_case
from tests.support.cases import try_each
from tests.support.effort import examples

NAMES = st.from_regex("[a-d][a-d_]{0,11}", fullmatch=True)

SCRIPT = Script(
    blocks=(
        Block("content_block", name="Welcome", section="intro"),
        Block("single_punch", name="favGame"),
        Block("open_numeric", name="q1"),
        Block("open_text", name="score"),
        Block("open_text", name="two words-here"),
        Block("calculated_block", name="Result"),
        Block("action_block", name="Reward"),
        Block("open_text", name="Answer"),
        Block("open_text", name="and"),
        Block("open_text"),
    )
)
SCORED = replace(SCRIPT, scoring_enabled=True, buckets=(Bucket("Mage"), Bucket("Fire Mage")))


@try_each(
    ("name", "expected"),
    [
        ("favGame", 1),
        ("Favgame", 1),
        ("FAVGAME", 1),
        ("Two_Words_Here", 4),
        ("two words-here", 4),
        ("q1", 0),
        ("Q1", 2),
        ("q10", 9),
        ("q11", None),
        ("q0", None),
        ("q01", None),
        ("q" + "9" * 1000, None),
        ("q٣", None),
        ("Q2", None),
        ("answer", "answer"),
        ("Answer", 7),
        ("ANSWER", 7),
        ("And", 8),
        ("score", 3),
        ("Score", 3),
        ("max_score", None),
        ("", None),
        ("nothing", None),
    ],
)
def test_the_meaning_of_a_name(name: str, expected: int | str | None) -> None:
    """Rules 3.9, 4.6 and 4.19."""
    assert resolve(name, SCRIPT) == expected


@try_each(
    ("name", "expected"),
    [
        ("score", "score"),
        ("Score", 3),
        ("correct_answers", "correct_answers"),
        ("max_correct_answers", "max_correct_answers"),
        ("score_mage", "score_mage"),
        ("max_score_correct_fire_mage", "max_score_correct_fire_mage"),
        ("score_ice", None),
        ("Score_mage", None),
        ("correct_answers_mage", None),
    ],
)
def test_the_meaning_of_a_name_if_scoring_is_on(name: str, expected: int | str | None) -> None:
    """Rule 4.19."""
    assert resolve(name, SCORED) == expected


def test_the_variables_of_a_script() -> None:
    """Rule 4.18."""
    assert variables(SCRIPT) == {"answer"}
    assert variables(replace(SCRIPT, scoring_enabled=True)) == VARIABLES
    assert variables(SCORED) - VARIABLES == {
        f"{score}_{bucket}"
        for score in ("score", "max_score", "score_correct", "max_score_correct")
        for bucket in ("mage", "fire_mage")
    }


def test_the_first_of_equal_names_is_meant() -> None:
    script = Script(blocks=(Block("open_text", name="a b"), Block("open_text", name="A-B")))

    assert resolve("a_b", script) == 0


def test_earlier_blocks_and_variables_can_be_referred_to() -> None:
    expression = parse('favgame = "chess" AND Q1 > 1 OR score = 1 OR q5 AND Result = 2 OR answer = "x"')

    assert check(expression, script=SCRIPT, at=7) == []


@try_each(
    ("text", "at", "code", "column", "message"),
    [
        (
            "1 = favgame",
            1,
            "self_reference",
            5,
            "favgame is this block itself: its condition is evaluated before it is answered.",
        ),
        (
            "q4",
            2,
            "later_reference",
            1,
            "q4 comes later in the script: only earlier blocks can be referred to.",
        ),
        ("welcome = 1", 2, "not_allowed", 1, "welcome is a content block, which has no answer to compare."),
        ("q7", 8, "not_allowed", 1, "q7 is an action block, which has no answer to compare."),
        (
            "faveGame = 1",
            2,
            "unknown_reference",
            1,
            "No block or variable is named faveGame. Did you mean favGame?",
        ),
        (
            "TwoWordsHere = 1",
            5,
            "unknown_reference",
            1,
            "No block or variable is named TwoWordsHere. Did you mean two_words_here?",
        ),
        ("Zzz = 1", 2, "unknown_reference", 1, "No block or variable is named Zzz."),
        ("q99", 2, "unknown_reference", 1, "q99 is a position, and the positions here are q1 to q10."),
        (
            "Q2",
            2,
            "unknown_reference",
            1,
            "No block is named Q2. The block at that position is written q2.",
        ),
        (
            "max_score > 1",
            2,
            "unknown_reference",
            1,
            "max_score is a variable only if scoring is enabled, and no block is named max_score.",
        ),
    ],
)
def test_a_reference_that_cannot_stand(text: str, at: int, code: str, column: int, message: str) -> None:
    assert check(parse(text), script=SCRIPT, at=at) == [ReferenceProblem(code, message, column)]


def test_invalid_names_are_not_suggested() -> None:
    expression = parse("Resullt = 1")

    messages = [check(expression, script=SCRIPT, at=at)[0].message for at in (5, 6)]

    assert messages == [
        "No block or variable is named Resullt.",
        "No block or variable is named Resullt. Did you mean Result?",
    ]


def test_only_the_first_two_unknown_names_get_a_suggestion() -> None:
    problems = check(parse("favGamee OR Resultt OR Answerr"), script=SCRIPT, at=9)

    assert ["Did you mean" in problem.message for problem in problems] == [True, True, False]


def test_a_variable_in_capitals_is_explained() -> None:
    problems = check(parse("Max_Score > 1 OR scoer"), script=SCORED, at=1)

    assert [problem.message for problem in problems] == [
        "No block is named Max_Score. The variable is written max_score.",
        "No block or variable is named scoer. Did you mean score?",
    ]


def test_an_automatic_name_is_no_position() -> None:
    script = Script(blocks=(Block("open_text", name="q0"), Block("open_text", name="q1")))

    problems = check(parse("q0 = 1"), script=script, at=1)

    assert [problem.message for problem in problems] == [
        "q0 is a position, and the positions here are q1 to q2. The block named q0 is written Q0."
    ]


def test_an_automatic_name_is_hinted_at_where_a_position_comes_too_early() -> None:
    script = Script(blocks=(Block("open_text", name="q0"), Block("open_text", name="q2")))

    problems = check(parse("q2 = 1"), script=script, at=1)

    assert [problem.message.split(": ")[1] for problem in problems] == [
        "its condition is evaluated before it is answered. The block named q2 is written Q2."
    ]


def test_every_problem_is_reported_once_in_the_order_of_the_text() -> None:
    expression = parse("Nobody = Later OR Result = Nobody AND Welcome")

    problems = check(expression, script=SCRIPT, at=2)

    assert [(problem.code, problem.column) for problem in problems] == [
        ("unknown_reference", 1),
        ("unknown_reference", 10),
        ("later_reference", 19),
        ("not_allowed", 39),
    ]


def test_a_script_without_blocks_has_no_positions() -> None:
    problems = check(parse("q1"), script=Script(blocks=()), at=0)

    assert [problem.message for problem in problems] == ["q1 is a position, and the script has no blocks."]


@settings(max_examples=examples(100), deadline=None)
@given(name=NAMES, known=st.lists(NAMES, max_size=MAX_COMPARED, unique_by=title_case))
def test_the_most_similar_name_is_suggested(name: str, known: list[str]) -> None:
    script = Script(blocks=tuple(Block("open_text", name=each) for each in known))
    titles = [block.title for block in script.blocks]

    problems = check(parse(f"{name} = 1"), script=script, at=len(known))

    nearest = difflib.get_close_matches(title_case(name), titles, n=1)
    expected = [f" Did you mean {known[titles.index(each)]}?" for each in nearest] or [""]
    assert [problem.message.partition(".")[2] for problem in problems] in (expected, [])
    assert bool(problems) == (title_case(name) not in titles)


def test_few_names_are_compared_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    ratio = difflib.SequenceMatcher.ratio

    def counted(matcher: difflib.SequenceMatcher[str]) -> float:
        compared.append(1)
        return ratio(matcher)

    monkeypatch.setattr(difflib.SequenceMatcher, "ratio", counted)
    letters = random.Random(7)
    alike = ["A" + "".join(letters.sample("a" * 32 + "b" * 31, 63)) for _ in range(101)]
    blocks = [Block("open_text", name=each) for each in (*alike[:100], "question_number_seven")]
    script = Script(blocks=tuple(blocks))

    problems = [
        check(parse(f"{name} = 1"), script=script, at=101) for name in (alike[100], "qestion_numbr_seven")
    ]

    assert ["Did you mean" in problem.message for (problem,) in problems] == [True, True]
    assert len(compared) == MAX_COMPARED + 1
