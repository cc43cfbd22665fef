"""Formulas in their script: refused if they are invalid, and changed with renamed blocks."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from surveys.engine.language import formulas, piping, references
from surveys.engine.rules import carrying
from surveys.engine.script import Block, Bucket, Script
from tests.support.cases import try_each
from tests.support.engine.violations import (
    CALCULATED,
    CHOICE,
    CONTENT,
    NUMERIC,
    TEXT,
    Raw,
    faults,
    violations,
)


def in_the_middle(formula: object) -> list[Raw]:
    return [
        {**CHOICE, "name": "game"},
        {**CALCULATED, "calculated_formula": formula},
        {**TEXT, "name": "later"},
    ]


@try_each(
    ("formula", "code"),
    [
        ("1 + 1", None),
        ("argmax([score_fire], [score_ice])", None),
        ('if [game] == "a" then You\'re great! else if 0 then 1 else 2', None),
        # Unknown names count as 0.
        ("[nobody] + [later] + [q2] + [score]", None),
        ("1 +", "syntax_error"),
        ("[game] = 1", "syntax_error"),
        ("if 1 then 2", "syntax_error"),
        ("(" * 51 + "1" + ")" * 51, "too_deep"),
        ("1" * 2000, None),
        ("1" * 2001, "too_long"),
        # Told by other rules, and once.
        (None, "required"),
        ("", "required"),
        ("  ", "required"),
        (7, "invalid_type"),
    ],
)
def test_a_formula_is_in_the_language(formula: object, code: str | None) -> None:
    assert faults(in_the_middle(formula)) == ([("blocks[1].calculated_formula", code)] if code else [])


def test_an_error_has_its_column_and_a_suggestion() -> None:
    (violation,) = violations(in_the_middle("2 * score"))

    assert violation.as_json() == {
        "field": "blocks[1].calculated_formula",
        "code": "syntax_error",
        "message": "`calculated_formula`: Write a variable in brackets: [score].",
        "column": 5,
    }


def test_a_formula_on_another_type_is_reported_once() -> None:
    assert faults([{**CONTENT, "calculated_formula": "1 +"}]) == [
        ("blocks[0].calculated_formula", "not_allowed")
    ]


def test_every_invalid_formula_is_reported_beside_an_invalid_precondition() -> None:
    broken = {**CALCULATED, "calculated_formula": ")", "precondition": "nobody = 1"}

    assert faults([CHOICE, broken, broken]) == [
        (f"blocks[{n}].{key}", code)
        for n in (1, 2)
        for key, code in (("calculated_formula", "syntax_error"), ("precondition", "unknown_reference"))
    ]


def test_the_formula_of_an_unreadable_block_is_not_reported() -> None:
    assert faults([{**CALCULATED, "type": "sum", "calculated_formula": ")"}, NUMERIC]) == [
        ("blocks[0].type", "invalid_choice")
    ]


# --- Renames --------------------------------------------------------------------------------------

BLOCKS = (
    Block("open_numeric", id=1, name="Fav Game-2"),
    Block("open_numeric", id=2, name="username"),
    Block("open_numeric", id=3, name="score"),
    Block("open_numeric", id=4, name="age"),
)


@try_each(
    ("formula", "expected"),
    [
        ("[Fav Game-2] * 2", "[best one] * 2"),
        ("[fav_game_2]+[ FAV-GAME 2 ]", "[best one]+[best one]"),
        ("argmax([age], [fav game-2])", "argmax([Size-1], [best one])"),
        (
            "if [Age]>5 then You're great! else if NOT [fav game 2] then 1 else (2)",
            "if [Size-1]>5 then You're great! else if NOT [best one] then 1 else (2)",
        ),
        # In a formula a block may be meant that prompts cannot mean.
        ("[UserName] + [username]", "[who] + [who]"),
        # A variable, a position, and names that only begin like them.
        ("[score] + [Score]", "[score] + [Result]"),
        ("[q1] + [Fav Game-22] + [Fav Game]", "[q1] + [Fav Game-22] + [Fav Game]"),
    ],
)
def test_a_rename_carries_through_a_formula(formula: str, expected: str) -> None:
    total = Block("calculated_block", id=9, name="sum", calculated_formula=formula)
    before = Script(blocks=(*BLOCKS, total), scoring_enabled=True, buckets=(Bucket("Score"),))
    new_names = ("best one", "who", "Result", "Size-1")
    renamed = tuple(replace(block, name=name) for block, name in zip(BLOCKS, new_names, strict=True))

    carried = carrying.carry(before, (*renamed, total))[-1].calculated_formula

    assert carried == expected
    after = replace(before, blocks=(*renamed, total))
    assert [meant(formula, before)] == [meant(expected, after)]


def meant(formula: str, script: Script) -> list[int | str | None]:
    return [references.resolve(each.name, script) for each in formulas.parse(formula).mentions]


def test_a_renamed_formula_computes_the_same() -> None:
    values = {"Old name": Decimal(4), "New-name 2": Decimal(4)}
    formula = "if [Old name] >= 4 then [Old name] / 3 else none"

    renamed = piping.rename(formula, {"Old_Name": "New-name 2"}, variables=())

    assert renamed == "if [New-name 2] >= 4 then [New-name 2] / 3 else none"
    assert formulas.parse(renamed).evaluate(values.get, str) == formulas.parse(formula).evaluate(
        values.get, str
    )


def test_a_prompt_keeps_the_variables_that_are_its_own() -> None:
    asked = Block("open_text", "Hello [UserName], [age]?", id=9, name="hello")
    before = Script(blocks=(*BLOCKS, asked))
    renamed = (BLOCKS[0], replace(BLOCKS[1], name="who"), BLOCKS[2], replace(BLOCKS[3], name="size"))

    assert carrying.carry(before, (*renamed, asked))[-1].prompt == "Hello [UserName], [size]?"
