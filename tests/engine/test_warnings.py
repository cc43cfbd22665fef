"""What a script says that does not do what its author wants."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from surveys.engine.rules.warnings import CODES, warnings
from surveys.engine.script import ActionConfig, Block, Bucket, Option, Script

QUESTION = Block("single_punch", "Which?", id=7, name="game", options=(Option("chess", 1), Option("go", 2)))
IGNORED = replace(QUESTION, scores_ignored=True)
XP = Block(
    "action_block",
    "Here.",
    id=8,
    name="prize",
    action_kind="give_xp",
    action_config=ActionConfig(xp_amount=5),
)
FROM_SCORE = replace(XP, action_config=ActionConfig(source_key="score"))
BADGE = replace(XP, action_kind="give_achievement", action_config=ActionConfig(xp_role_id=3))
ROLE = replace(XP, action_kind="give_role", action_config=ActionConfig(role_id="77"))
SUM = Block("calculated_block", id=9, name="sum", calculated_formula="[game] + [score] * 2")


def told(*blocks: Block, **how: Any) -> list[tuple[object, object]]:
    """Field and code of each; a script that is scored, unless it is said otherwise."""
    facts = {"uses_xp": False, "is_anonymous": False, "known_achievements": None}
    facts |= {key: how.pop(key) for key in facts if key in how}
    fields = {"scoring_enabled": True, "buckets": (Bucket("Score"),)} | how
    found = warnings(Script(blocks, **fields), **facts)  # type: ignore[arg-type]
    assert {each["code"] for each in found} <= set(CODES)
    assert all(str(each["message"]).endswith(".") for each in found)
    return [(each["field"], each["code"]) for each in found]


def test_a_script_that_does_what_it_says_is_told_nothing() -> None:
    facts = {"uses_xp": True, "is_anonymous": True, "known_achievements": {3}}

    assert told(QUESTION, SUM, **facts) == []
    assert told(QUESTION, XP, FROM_SCORE, BADGE, ROLE, known_achievements={3}) == []
    assert told(**facts) == []


def test_a_warning_names_its_block() -> None:
    (warning,) = warnings(
        Script((QUESTION, XP)), uses_xp=True, is_anonymous=False, known_achievements=frozenset()
    )

    assert warning.pop("message")
    assert warning == {"field": "blocks[1]", "block_id": 8, "block_name": "prize", "code": "double_award"}


@pytest.mark.parametrize(
    ("scoring", "advice"),
    [
        (False, "Enable scoring, then write the script again, with them, or with `score_values: {}`"),
        (True, "Write the script again"),
    ],
)
def test_points_that_were_ignored_are_told_with_what_to_do(scoring: bool, advice: str) -> None:
    script = Script((QUESTION, IGNORED), scoring_enabled=scoring)

    (warning,) = warnings(script, uses_xp=False, is_anonymous=False, known_achievements=None)

    assert (warning["field"], warning["code"]) == ("blocks[1].options", "scores_ignored")
    assert advice in str(warning["message"])


def test_a_script_from_before_scoring_is_told_as_a_whole() -> None:
    assert told(QUESTION, is_scored=False) == [("blocks", "scores_ignored")]
    assert told(QUESTION, is_scored=False, scoring_enabled=False) == []
    assert told(is_scored=False) == []


def test_points_of_a_ranking_are_told_to_count_for_nothing() -> None:
    items = (Option("a", id=1, score_values={"score": Decimal(1)}), Option("b", id=2))
    ranking = Block("ranking", id=4, name="order", options=items)

    assert told(ranking) == [("blocks[0].options", "scores_ignored")]
    assert told(ranking, scoring_enabled=False) == []


def test_a_right_answer_that_is_not_graded_is_told() -> None:
    graded = replace(QUESTION, correct_answer_ids=(1,))

    assert told(graded, scoring_enabled=False) == [("blocks[0].correct_answer_ids", "not_graded")]
    assert told(graded) == []


def test_points_without_options_are_nothing_to_ignore() -> None:
    assert told(replace(IGNORED, options=())) == []


@pytest.mark.parametrize("block", [XP, FROM_SCORE])
def test_xp_from_a_block_and_at_the_end_is_a_double_award(block: Block) -> None:
    assert told(block, BADGE, ROLE, uses_xp=True) == [("blocks[0]", "double_award")]


@pytest.mark.parametrize(
    ("formula", "scoring", "unknown"),
    [
        ("[game] + [gmae] + [gmae]", True, ["gmae"]),
        ("[score] + [score_mage]", True, ["score_mage"]),
        ("[score] + [max_score]", False, ["score", "max_score"]),
        ("[sum] + [later]", True, ["sum", "later"]),
        ("argmax([score_a], [score])", True, ["score_a"]),
        ("[Game] + [q1]", True, []),
        ("1 +", True, []),
    ],
)
def test_a_name_in_a_formula_without_a_value_is_told(formula: str, scoring: bool, unknown: list[str]) -> None:
    later = Block("open_text", id=10, name="later")
    script = Script(
        (QUESTION, replace(SUM, calculated_formula=formula), later),
        scoring_enabled=scoring,
        buckets=(Bucket("Score"),),
    )

    found = warnings(script, uses_xp=False, is_anonymous=False, known_achievements=None)

    assert [each["field"] for each in found] == ["blocks[1].calculated_formula"] * len(unknown)
    assert all(f"[{name}]" in str(each["message"]) for name, each in zip(unknown, found, strict=True))
    assert {each["code"] for each in found} <= {"unknown_variable"}


def test_a_score_to_award_is_unknown_while_scoring_is_off() -> None:
    where = ("blocks[0].action_config.source_key", "unknown_variable")

    assert told(FROM_SCORE, scoring_enabled=False) == [where]
    assert told(replace(XP, action_config=ActionConfig(source_key="score_rogue"))) == [where]


def test_an_achievement_that_nobody_described_is_told() -> None:
    assert told(BADGE, known_achievements={4}) == [
        ("blocks[0].action_config.xp_role_id", "unknown_achievement")
    ]
    assert told(BADGE, known_achievements=None) == []


@pytest.mark.parametrize(
    ("logic", "field"),
    [
        ({}, "precondition"),
        ({"show_when": {"block": "game", "op": "eq", "value": "go"}}, "show_when"),
        ({"hide_when": {"block": "game", "op": "eq", "value": "go"}}, "hide_when"),
    ],
)
@pytest.mark.parametrize("block", [XP, BADGE, ROLE])
def test_what_fires_on_a_condition_tells_the_answers_of_an_anonymous_project(
    block: Block, logic: Any, field: str
) -> None:
    conditional = replace(block, precondition='game = "go"', **logic)

    assert told(QUESTION, conditional, is_anonymous=True) == [(f"blocks[1].{field}", "tells_the_answers")]
    assert told(QUESTION, conditional) == []


def test_xp_from_a_score_tells_the_answers_of_an_anonymous_project() -> None:
    assert told(FROM_SCORE, is_anonymous=True) == [
        ("blocks[0].action_config.source_key", "tells_the_answers")
    ]


def test_content_on_a_condition_tells_nothing() -> None:
    content = Block("content_block", "Hm.", id=11, name="hm", precondition='game = "go"')

    assert told(QUESTION, content, is_anonymous=True) == []


def test_the_achievements_of_a_script_are_those_its_blocks_grant() -> None:
    other = replace(BADGE, action_config=ActionConfig(xp_role_id=9))

    assert Script((QUESTION, BADGE, XP, other), outro=(BADGE,)).achievements == {3, 9}


@pytest.mark.parametrize(
    ("formula", "tokens"),
    [
        ('if [game] == "chess" then "level [game]" else Go [game-2]!', ["game", "game-2"]),
        ('if [game] == "[chess]" then [game] else [answer]', ["chess"]),
        ('if [game] == "[2]" then "[]" else [game]', []),
    ],
)
def test_brackets_within_a_text_of_a_formula_are_told(formula: str, tokens: list[str]) -> None:
    script = Script((QUESTION, replace(SUM, calculated_formula=formula)))

    found = warnings(script, uses_xp=False, is_anonymous=False, known_achievements=None)

    assert [(each["field"], each["code"]) for each in found] == [
        ("blocks[1].calculated_formula", "unfilled_token")
    ] * len(tokens)
    assert [f"[{token}]" in str(each["message"]) for token, each in zip(tokens, found, strict=True)] == [
        True
    ] * len(tokens)
