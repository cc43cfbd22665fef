"""Formulas of calculated blocks: arithmetic, choices, argmax, faults, in tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from decimal import Decimal, localcontext
from typing import Any

import pytest

from surveys.engine.formulas import MAX_LENGTH, Mention, SyntaxFault, Value, parse
from surveys.engine.references import unknown_names
from surveys.engine.script import Block, Bucket, Script
from surveys.engine.values import number_text

VALUES: Mapping[str, Value] = {
    "a": Decimal(1),
    "b": Decimal(2),
    "c": Decimal(3),
    "three": Decimal(3),
    "half": Decimal("0.5"),
    "zero": Decimal("0.0"),
    "minus": Decimal(-4),
    "game": "chess",
    "digits": "20.0",
    "odd": "1e5",
    "empty": "",
    "false": "false",
    "list": ("chess", "go"),
    "one": ("chess",),
    "one five": ("5",),
    "none": (),
    "flag": True,
    "Fav Game-2": Decimal(7),
    "huge": Decimal("1E+99"),
    "nan": Decimal("NaN"),
    "snan": Decimal("sNaN"),
    "infinite": Decimal("-Infinity"),
    "far": Decimal("1E+999999999"),
    "near": Decimal("1E-999999999"),
    "score_fire_mage": Decimal(5),
    "score_warrior": Decimal(5),
    "score_rogue": Decimal(4),
}
BUCKETS = {"score_fire_mage": "Fire Mage", "score_warrior": "warriorOfOld", "score_rogue": "2024"}


def result(text: str, values: Mapping[str, Value] = VALUES) -> Decimal | str:
    return parse(text).evaluate(values.get, lambda name: BUCKETS.get(name, name))


def told(text: str) -> str:
    found = result(text)
    return number_text(found) if isinstance(found, Decimal) else f"'{found}'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Numbers and precedence.
        ("1", "1"),
        ("007", "7"),
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 3 - 2", "5"),
        ("100 / 10 / 2", "5"),
        ("100 / (10 / 2)", "20"),
        ("2 * 3 / 4 * 2", "3"),
        ("1-1", "0"),
        ("((1))", "1"),
        (" 1\n+\t1 ", "2"),
        # Unary minus.
        ("-5", "-5"),
        ("-(2 + 3)", "-5"),
        ("--5", "5"),
        ("2--3", "5"),
        ("2 * -3", "-6"),
        ("-2 * -3", "6"),
        ("-[minus]", "4"),
        ("- - [game]", "0"),
        ("1 - - - 1", "0"),
        # Variables.
        ("[a] + [b]", "3"),
        ("[ a ]+[b ]", "3"),
        ("[Fav Game-2] * 2", "14"),
        ("([a] + [b] + [c]) / 3", "2"),
        ("[digits] / 2", "10"),
        ("[one five] + 1", "6"),
        # What is no number counts as 0.
        ("[nobody]", "0"),
        ("[nobody] + 1", "1"),
        ("[game] + 1", "1"),
        ("[odd] + 1", "1"),
        ("[empty] + 1", "1"),
        ("[list] + 1", "1"),
        ("[none] + 1", "1"),
        ("[flag] + 1", "1"),
        ("[nan] + 1", "1"),
        ("[snan] * 2", "0"),
        ("[infinite] - 1", "-1"),
        # A variable alone is its value.
        ("[game]", "'chess'"),
        ("([game])", "'chess'"),
        ("[digits]", "20"),
        ("[list]", "'chess, go'"),
        ("[one]", "'chess'"),
        ("[one five]", "5"),
        ("[none]", "0"),
        ("[nan]", "0"),
        ("[snan]", "0"),
        ("[infinite]", "0"),
        # Division by zero.
        ("1 / 0", "0"),
        ("1 / 0 + 5", "5"),
        ("0 / 0", "0"),
        ("1 / [zero]", "0"),
        ("1 / [nobody]", "0"),
        ("1 / ([a] / [three] * 3 - 1)", "0"),
        ("1 / (-0)", "0"),
        # Decimals.
        ("0.1 + 0.2", "0.3"),
        ("1 / 3", "0.333333"),
        ("2 / 3", "0.666667"),
        ("0.5 * 2", "1"),
        ("([a] / 3) * 3", "1"),
        ("[a] / 3 + [a] / 3 + [a] / 3 - 1", "0"),
        ("1.10", "1.1"),
        ("10 * 10", "100"),
        # Too large to be told, and too small.
        ("[huge]", "1" + "0" * 99),
        ("[huge] * 10", "0"),
        ("[huge] * 10 / 10", "1" + "0" * 99),
        ("1" + "0" * 99, "1" + "0" * 99),
        ("1" + "0" * 100, "0"),
        ("-1" + "0" * 100, "0"),
        ("[far]", "0"),
        ("[far] + 1", "0"),
        ("[far] * [far] - [far] * [far]", "0"),
        ("[near]", "0"),
        ("[near] + 1", "1"),
        ("1 / [near]", "0"),
        ("0." + "0" * 200 + "1", "0"),
    ],
)
def test_arithmetic(text: str, expected: str) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # Numbers.
        ("[a] > 0", True),
        ("[a] > 1", False),
        ("[a] >= 1", True),
        ("[a] < 1", False),
        ("[a] <= 1", True),
        ("[a] == 1.00", True),
        ("[a] = 1", True),
        ("[a] != 1", False),
        ("[digits] == 20", True),
        ("[digits] > 19", True),
        ("[minus] < -3", True),
        ("[a] + [b] == [c]", True),
        ("([a] / 3) * 3 == 1", True),
        ("([a] / 3) * 3 >= 1", True),
        ("0.1 + 0.2 == 0.3", True),
        # An unanswered value is 0.
        ("[nobody] == 0", True),
        ("[nobody] != 0", False),
        ("[nobody] < 1", True),
        ("[nobody] >= 0", True),
        ("[nobody] == [zero]", True),
        ("[none] == 0", True),
        ('[nobody] == ""', False),
        # Text, exact in case.
        ('[game] == "chess"', True),
        ('"chess" = [game]', True),
        ('[game] == "Chess"', False),
        ('[game] != "go"', True),
        ("[game] == 0", False),
        ('[a] == "1"', True),
        ('[one] == "chess"', True),
        ('[list] == "chess"', False),
        ('("chess") == [game]', True),
        ('[flag] == "true"', True),
        # In an ordering text is 0.
        ("[game] < 1", True),
        ("[game] > -1", True),
        ('[a] < "2"', True),
        ("[list] >= 0", True),
        # argmax gives text.
        ('argmax([score_rogue], [score_warrior]) == "warriorOfOld"', True),
        ('argmax([score_rogue], [score_warrior]) == "Warriorofold"', False),
        ("argmax([score_rogue]) == 2024", True),
        ("argmax([score_rogue], [score_warrior]) > 0", False),
        # An if in parentheses is a side.
        ('(if [a] then yes else no) == "yes"', True),
        ("(if [a] then 2 else 3) > [a]", True),
        # Without a comparison: not 0.
        ("[a]", True),
        ("[zero]", False),
        ("[nobody]", False),
        ("[a] - 1", False),
        ("[a] / 3 - [a] / 3", False),
        ("-1", True),
        ("0", False),
        ("[game]", True),
        ("[empty]", False),
        ("[false]", False),
        ("[list]", True),
        ("[none]", False),
        ("[game] + 0", False),
        ("argmax([a])", True),
        # AND, OR and NOT.
        ("NOT [a]", False),
        ("not Not NOT [zero]", True),
        ("NOT [a] > 1", True),
        ("[a] AND [b]", True),
        ("[a] and [zero]", False),
        ("[zero] Or [a]", True),
        ("[zero] or [zero]", False),
        ("1 OR 0 AND 0", True),
        ("(1 OR 0) AND 0", False),
        ("NOT 0 AND 0", False),
        ("NOT (0 AND 0)", True),
        ("[a] == 1 AND ([b] > 5 OR NOT ([c] < 0))", True),
        ("(([a] > 0))", True),
        ("(([a]) + (1)) * 2 == 4 AND (([b] > 1))", True),
        ("[a] > 0 AND [b] > 0 AND [c] > 5", False),
    ],
)
def test_conditions(condition: str, expected: bool) -> None:
    assert result(f"if {condition} then 1 else 0") == int(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Kinds of values.
        ("if 1 then 2 + 3 else 0", "5"),
        ("if 0 then 2 else [b] * 10", "20"),
        ('if 1 then "If, then, else" else 0', "'If, then, else'"),
        ('if 1 then "" else 0', "''"),
        ('if 1 then "5" else 0', "'5'"),
        ("if 1 then [game] else 0", "'chess'"),
        ("if 1 then [nobody] else 1", "0"),
        ("if 1 then argmax([a], [b]) else 0", "'b'"),
        ("if 1 then (2) else 0", "2"),
        ("if 1 then -[a] else 0", "-1"),
        ('if 1 then ("x") else 0', "'x'"),
        # Keywords in any case.
        ("IF 1 THEN 2 ELSE 3", "2"),
        ("If 0 tHen 2 eLse 3", "3"),
        # Words.
        ("if 1 then High else Low", "'High'"),
        ("if 0 then High else Low", "'Low'"),
        ("if 1 then  Two  words\n else x", "'Two  words'"),
        ("if 1 then You're great! else Keep going", "'You're great!'"),
        ("if 0 then You're great! else Keep going…  ", "'Keep going…'"),
        ("if 1 then A, B & C; 100% (sure) else x", "'A, B & C; 100% (sure)'"),
        ('if 1 then As [a] says "b" — done? else x', "'As [a] says \"b\" — done?'"),
        ("if 1 then Smile :) else x", "'Smile :)'"),
        ("if 0 then x else Smile :) or :(", "'Smile :) or :('"),
        ("if 1 then iffy thens elsewhere else x", "'iffy thens elsewhere'"),
        ("if 1 then What-if thinker else x", "'What-if thinker'"),
        ("if 1 then если else x", "'если'"),
        ("if 1 then 👍 yes else ¿no?", "'👍 yes'"),
        ("if 0 then 👍 yes else ¿no?", "'¿no?'"),
        ("if 1 then argmax else x", "'argmax'"),
        ("if 1 then argmaximum ([a]) else x", "'argmaximum ([a])'"),
        ("if 1 then a > b and not c else x", "'a > b and not c'"),
        ("if 1 then score + 1 else 0", "'score + 1'"),
        ("if 1 then NOT 1 else 0", "'NOT 1'"),
        ("(if 1 then x (and else y)", "'x (and'"),
        # Nested, each way.
        ("if 0 then 1 else if 1 then 2 else 3", "2"),
        ("if 0 then 1 else if 0 then 2 else if 0 then 3 else 4", "4"),
        ("if 1 then if 0 then x else y else z", "'y'"),
        ("if 0 then if 0 then x else y else z", "'z'"),
        ("if 1 then if 1 then if 1 then a else b else c else d", "'a'"),
        ("if 0 then 1 ELSE\nIF 1 then Two else 3", "'Two'"),
        ("(if 1 then 2 else 3) * 10", "20"),
        ("(if 1 then 2 else 3) + (if 0 then 2 else 3)", "5"),
        ("1 + (if 0 then 2 else (if 1 then 5 else 6) * 2)", "11"),
        ("if 0 then 1 else 2 + 3", "5"),
        ("(if 0 then yes else no)", "'no'"),
        ("((if 1 then Well (done) else no))", "'Well (done)'"),
        ("(if 0 then yes (of course) else no (never)) ", "'no (never)'"),
        ("(if 1 then yes else no) + 1", "1"),
        ('(if 1 then "5" else no) + 1', "6"),
        ("if (if [a] then 0 else 1) then x else y", "'y'"),
        ("if (1) then (if 1 then a else b) else c", "'a'"),
        ("if[a]then 2 else(3)", "2"),
        ("if (1)then(2)else(3)", "2"),
        # argmax.
        ("argmax([score_rogue], [score_fire_mage], [score_warrior])", "'Fire Mage'"),
        ("argmax([score_warrior], [score_fire_mage])", "'warriorOfOld'"),
        ("ArgMax ( [score_rogue] )", "'2024'"),
        ("argmax([nobody], [zero], [game])", "'nobody'"),
        ("argmax([minus], [game])", "'game'"),
        ("argmax([a], [digits], [b])", "'digits'"),
        ("argmax([far], [a])", "'a'"),
        ("argmax([score_rogue]) + 1", "2025"),
        ("(argmax([a]))", "'a'"),
        ("-argmax([a])", "0"),
        # As in an owner's script.
        (
            'if argmax([score_fire_mage], [score_rogue]) == "Fire Mage" then Hot '
            "else if [score_rogue] >= 3 then Sly else Nobody",
            "'Hot'",
        ),
        ("if [a] > 2 then Expert else if [a] >= 1 then Learner else Beginner", "'Learner'"),
        ("([score_rogue] / ([score_rogue] + [score_warrior] + 1)) * 100", "40"),
    ],
)  # fmt: skip
def test_choices_and_argmax(text: str, expected: str) -> None:
    assert told(text) == expected


def test_only_the_value_that_is_chosen_is_asked_for() -> None:
    asked: list[str] = []

    def value_of(name: str) -> Value:
        asked.append(name)
        return Decimal(1)

    parse("if [x] OR [y] then [fav game] else [z]").evaluate(value_of, str)

    assert asked == ["x", "fav game"]


def test_a_result_is_rounded_to_40_digits_without_trailing_zeros() -> None:
    assert str(result("2 / 3")) == "0." + 39 * "6" + "7"
    assert str(result("[a] / 3 * 3")) == "1"
    assert str(result("2.50 * 1")) == "2.5"
    assert str(result("100")) == "100"
    assert str(result("0 * -1")) == "0"
    assert str(result("-0.0")) == "0"


def test_no_setting_of_decimals_elsewhere_matters() -> None:
    with localcontext(prec=2, Emax=2, Emin=-2) as context:
        context.clear_traps()
        for trap in context.traps:
            context.traps[trap] = True

        told = str(parse("12345.678 / 7 + 0.001").evaluate(VALUES.get, str))

    assert told == "1763.669285714285714285714285714285714286"


def test_names_are_told_as_written_with_their_columns() -> None:
    formula = parse('if [Fav Game-2 ] == "[no]" then argmax([a],[ b]) else You [no] (x) ')

    assert formula.mentions == (Mention("Fav Game-2", 4), Mention("a", 40), Mention("b", 44))
    assert formula.source.startswith("if [Fav")


def test_a_formula_is_remembered() -> None:
    assert parse("[a] + 12") is parse("[a] + 12")
    assert parse("[a]+12") == parse("[a]  + 12")
    assert parse("[a]+12") != parse("[a]+13")


EMPTY = "A formula cannot be empty. Write arithmetic, such as [score] * 2."
COMPARISON = "A comparison stands between if and then, as in: if [score] > 5 then 1 else 0."
JOINS = "AND, OR and NOT stand between if and then, as in: if NOT [score] then 1 else 0."
NO_ELSE = "This if has no else: write if ... then ... else ..."
NO_THEN = "then is missing: write if ... then ... else ..."
EARLY = "The formula ends too early: a number or a variable is missing."
OPEN = "This parenthesis is not closed: a ) is missing."
CHAIN = "Comparisons cannot be chained. Write [a] < [b] AND [b] < [c]."
NESTED_IF = "An if within a formula stands in parentheses: (if ... then ... else ...)."
WITH_TEXT = "There is no arithmetic with text."
ARGUMENTS = "argmax takes variables in brackets, as in argmax([score_a], [score_b])."
ALONE = "Text alone is no formula: it stands after then, after else or in a comparison."
NO_CONDITION = 'Text alone is no condition: compare it, as in [game] == "chess".'
MISSING_COMMA = "Commas stand between the variables, as in argmax([score_a], [score_b])."
ELSE_IF = "Write else if, in two words: if ... then ... else if ... then ... else ..."
NO_COMMAS = "An if has no commas: write if ... then ... else ... Half is written 0.5."
COMMAS = "Only argmax has commas. A number has a point, as in 0.5."


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, EMPTY),
        (" \n", 1, EMPTY),
        # Comparisons and conditions out of their place.
        ("[a] > 1", 5, COMPARISON),
        ("([a] == 1)", 6, COMPARISON),
        ("[a] AND [b]", 5, JOINS),
        ("[a] OR [b]", 5, JOINS),
        ("NOT [a]", 1, JOINS),
        ("if 1 then [a] > 1 else 0", 15, COMPARISON),
        ("if 1 then 2 else (3 < 4)", 21, COMPARISON),
        ("([a] > 1) * 2", 6, "Arithmetic has no conditions in it. Write (if [score] > 5 then 1 else 0)."),
        ("1 - (NOT 1)", 6, "Arithmetic has no conditions in it. Write (if [score] > 5 then 1 else 0)."),
        ("if ([a] > 1) + 1 then 1 else 0", 9, "Arithmetic has no conditions in it. "
         "Write (if [score] > 5 then 1 else 0)."),
        ("if ([a] > 1) == 1 then 1 else 0", 9, "Conditions are not compared: join them by AND, OR and NOT."),
        ("if [a] < [b] < [c] then 1 else 0", 14, CHAIN),
        ("if [a] == NOT 1 then 1 else 0", 11, "NOT cannot stand here without parentheses: write (NOT ...)."),
        ("if [a] NOT > 1 then 1 else 0", 8, "Write NOT before the whole comparison, as in NOT [score] > 5."),
        ("if [a] in [b] then 1 else 0", 8, "There is no in within formulas: write comparisons joined by OR."),
        ("if [a] > then 1 else 0", 10, "A number or a variable is missing before then."),
        ("if > 1 then 1 else 0", 4, "A number or a variable is missing before >."),
        ("if AND 1 then 1 else 0", 4, "A number or a variable is missing before AND."),
        # Text out of its place.
        ('"text"', 1, ALONE),
        ('("text")', 2, ALONE),
        ('if "x" then 1 else 0', 4, NO_CONDITION),
        ('if [a] OR "x" then 1 else 0', 11, NO_CONDITION),
        ('if NOT "x" then 1 else 0', 8, NO_CONDITION),
        ('1 + "x"', 5, WITH_TEXT),
        ('"x" * 1', 1, WITH_TEXT),
        ('-"x"', 2, WITH_TEXT),
        ('if 1 then "x" + 1 else 0', 11, WITH_TEXT),
        # if without its parts.
        ("if [a] then 1", 1, NO_ELSE),
        ("if [a] then words", 1, NO_ELSE),
        ("1 + (if [a] then 1)", 6, NO_ELSE),
        ("(if [a] then words)", 2, NO_ELSE),
        ("if 1 then if 2 then 3 else 4", 1, NO_ELSE),
        ("if [a]", 7, NO_THEN),
        ("if [a] else 1", 8, NO_THEN),
        ("(if [a])", 8, NO_THEN),
        ("if", 3, EARLY),
        ("if [a] then", 12, EARLY),
        ("if [a] then 1 else", 19, EARLY),
        ("if [a] then else 1", 13, "A number or a variable is missing before else."),
        ("if then 1 else 2", 4, "A number or a variable is missing before then."),
        ("[a] then 1", 5, "This then has no if before it: write if ... then ... else ..."),
        ("1 else 2", 3, "This else has no if before it: write if ... then ... else ..."),
        ("if 1 then 2 else 3 else 4", 20, "This else has no if before it: write if ... then ... else ..."),
        ("if 1 then x else y else z", 20, "Text with the word else in it is written in double quotes."),
        ("if 1 then what if not else x", 16, "Text with the word if in it is written in double quotes."),
        ("if 1 then now and then x else y", 19, "Text with the word then in it is written in double quotes."),
        ("if 1 then x else what If", 23, "Text with the word If in it is written in double quotes."),
        ("1 + if 1 then 2 else 3", 5, NESTED_IF),
        ("if if 1 then 2 else 3 then 4 else 5", 4, NESTED_IF),
        ("if 1 then $5 stars else 0", 11, "Text that begins with $ is written in double quotes."),
        ("if 1 then @me else 0", 11, "Text that begins with @ is written in double quotes."),
        ("if 1 then 0 else # one", 18, "Text that begins with # is written in double quotes."),
        ("if 1 then 2 elseif 2 then 3 else 4", 13, ELSE_IF),
        ("if 1 then warm elseif 2 then hot else cold", 25, ELSE_IF),
        ("if 1 then (2) ELIF 2 then 3 else 4", 15, ELSE_IF),
        ("IF([a]>1,2,3)", 9, NO_COMMAS),
        ("1 + (if ([a], 2, 3))", 13, NO_COMMAS),
        ("if 1 then 5 stars else 0", 13,
         'Text that begins with a digit is written in double quotes: "5 stars".'),
        # Names without brackets.
        ("score", 1, "Write a variable in brackets: [score]."),
        ("2 * score + 1", 5, "Write a variable in brackets: [score]."),
        ("(-score)", 3, "Write a variable in brackets: [score]."),
        ("if score > 1 then 1 else 0", 4, "Write a variable in brackets: [score]."),
        ("if [game] == chess then 1 else 0", 14,
         'Write a variable in brackets and text in double quotes: [chess] or "chess".'),
        ("if [a] == true then 1 else 0", 11,
         "There is no true and false in formulas: write 1 and 0, or text in double quotes."),
        ("max([a], [b])", 1, "There is no function max: argmax is the only one."),
        ("2 + round ([a])", 5, "There is no function round: argmax is the only one."),
        # Brackets, parentheses, commas.
        ("[a", 1, "This bracket is not closed: a ] is missing."),
        ("[]", 1, "Brackets hold the name of a variable, which begins with a letter: [score]."),
        ("1 + [2b]", 5, "Brackets hold the name of a variable, which begins with a letter: [score]."),
        ("[a] [2]", 5, "Brackets hold the name of a variable, which begins with a letter: [score]."),
        ("[a]]", 4, "An operator such as + is missing before ]."),
        ("(1 + 2", 1, OPEN),
        ("1 + ((2)", 5, OPEN),
        ("if (1 then 2 else 3", 7, "This then has no if before it: write if ... then ... else ..."),
        ("(if 1 then x else y", 1, OPEN),
        (")", 1, "A number or a variable is missing before )."),
        ("()", 2, "A number or a variable is missing before )."),
        ("1)", 2, "This ) closes nothing: a ( is missing before it."),
        ("if 1 then (2)) else 3", 14, "This ) closes nothing: a ( is missing before it."),
        ("0,5", 2, COMMAS),
        ("1 + (2, 3)", 7, COMMAS),
        # Arithmetic.
        ("1 +", 4, EARLY),
        ("-", 2, EARLY),
        ("1 + * 2", 5, "A number or a variable is missing before *."),
        ("2 ** 3", 4, "A number or a variable is missing before *."),
        ("+1", 1, "A + stands between two numbers."),
        ("1 2", 3, "An operator such as + is missing before 2."),
        ("2 [a]", 3, "An operator such as + is missing before [a]."),
        ("[a](2)", 4, "An operator such as + is missing before (."),
        ('[a] "x"', 5, 'An operator such as + is missing before "x".'),
        ("[a] if 1 then 2 else 3", 5, "An operator such as + is missing before if."),
        ("[a] apples", 5, "An operator such as + is missing before apples."),
        # argmax.
        ("argmax", 1, "argmax is followed by variables in parentheses, as in argmax([score_a], [score_b])."),
        ("1 + argmax [a]", 5,
         "argmax is followed by variables in parentheses, as in argmax([score_a], [score_b])."),
        ("argmax()", 8, ARGUMENTS),
        ("argmax(1)", 8, ARGUMENTS),
        ("argmax([a], b)", 13, ARGUMENTS),
        ("argmax([a], [b] + 1)", 17, MISSING_COMMA),
        ("argmax([a] [b])", 12, MISSING_COMMA),
        ("argmax([a],)", 12, ARGUMENTS),
        ("argmax([a]", 7, OPEN),
        ("argmax(", 7, OPEN),
        # Of the lexer.
        ("if [a] ≥ 1 then 1 else 0", 8, "Write >= instead of ≥."),
        ("if [a] && 1 then 1 else 0", 8, "Write AND instead of &&."),
        ("if [a] == 'x' then 1 else 0", 11, 'Text is written in straight double quotes: "text".'),
        ("if 1 then “x” else 0", 11, 'Text is written in straight double quotes: "text".'),
        ("10 % 3", 4, "The character % has no meaning here."),
        (".5 + 1", 1, "A number has digits on both sides of its point, as in 0.5."),
        ('if [a] == "x then 1 else 0', 11, 'This text is not closed: a " is missing at its end.'),
    ],
)  # fmt: skip
def test_a_fault_says_what_to_write_instead_and_where(text: str, column: int, message: str) -> None:
    with pytest.raises(SyntaxFault) as caught:
        parse(text)

    fault = caught.value
    assert (fault.column, fault.message, fault.code) == (column, message, "syntax_error")


def test_a_formula_has_at_most_2000_characters() -> None:
    longest = "1 + " * 499 + "1234"

    assert len(longest) == MAX_LENGTH
    assert result(longest) == 499 + 1234
    with pytest.raises(SyntaxFault) as caught:
        parse(longest + "1")
    assert (caught.value.code, caught.value.column) == ("too_long", 2001)
    assert caught.value.message == "A formula has at most 2,000 characters; this one has 2,001."


DEEPEST = [
    ("(" * 50, "7", ")" * 50),
    ("-(" * 50, "-7", ")" * 50),
    ("if 1 then " * 50, "7", " else 0" * 50),
    ("if 0 then 0 else (" * 24, "(if 1 then 7 else 0)", ")" * 24),
    ("(if 1 then " * 25, "7", " else 0)" * 25),
    ("if " + "NOT " * 48 + "(", "1", ") then 7 else 0"),
    ("(if 0 OR 1 AND 7 == 0 + 1 * " * 25, "7", " then 7 else 0)" * 25),
]


@pytest.mark.parametrize(("opening", "core", "closing"), DEEPEST)
def test_a_formula_nests_at_most_50_deep(opening: str, core: str, closing: str) -> None:
    assert result(opening + core + closing) in (7, -7)
    with pytest.raises(SyntaxFault) as caught:
        parse(opening + f"({core})" + closing)
    assert caught.value.code == "too_deep"
    assert "nest at most 50 deep" in caught.value.message


def frames() -> int:
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


@pytest.mark.parametrize(("opening", "core", "closing"), DEEPEST)
def test_the_deepest_formulas_leave_room_on_the_stack(opening: str, core: str, closing: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(frames() + 600)
    try:
        assert parse.__wrapped__(opening + core + closing).evaluate(VALUES.get, str) in (7, -7)
    finally:
        sys.setrecursionlimit(limit)


def test_siblings_else_ifs_and_minuses_do_not_nest() -> None:
    assert result("+".join(["(1)"] * 400)) == 400
    assert result("-" * 1998 + "1") == 1
    assert result("if 0 then 1 else " * 110 + "7") == 7
    assert result("1" + "*1" * 999) == 1
    assert result("if 0" + " or 0" * 300 + " or 1 then 1 else 0") == 1


SCRIPT = Script(
    blocks=(
        Block("open_numeric", id=1, name="age"),
        Block("content_block", id=2, name="hello"),
        Block("action_block", id=3, name="gift"),
        Block("calculated_block", id=4, name="sum"),
        Block("calculated_block", id=5, name="mine"),
        Block("open_text", id=6, name="later"),
        Block("open_text", id=7, name="fav game"),
    ),
    scoring_enabled=True,
    buckets=(Bucket("Fire Mage"),),
)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("[age] + [AGE] + [q1] + [sum] + [answer] + [score] + [score_fire_mage] + [max_correct_answers]", []),
        ("[agee]", [("agee", 1)]),
        ("[hello] + [gift] + [q2]", [("hello", 1), ("gift", 11), ("q2", 20)]),
        ("[mine] + [q5] + [later] + [q6]", [("mine", 1), ("q5", 10), ("later", 17), ("q6", 27)]),
        ("[q0] + [q9] + [Q1]", [("q0", 1), ("q9", 8), ("Q1", 15)]),
        ("[score_ice] + [Score] + [UserName]", [("score_ice", 1), ("Score", 15), ("UserName", 25)]),
        ("[nobody] + [age] * [nobody] + [Nobody]", [("nobody", 1), ("Nobody", 31)]),
        ("[fav game] + [Fav-Game]", [("fav game", 1), ("Fav-Game", 14)]),
        ("if [x] then [age] else You [y]", [("x", 4)]),
        ("argmax([score_ice], [age])", [("score_ice", 8)]),
    ],
)
def test_names_that_always_count_as_0_are_told_once_each(formula: str, expected: list[Any]) -> None:
    assert unknown_names(parse(formula), SCRIPT, 4) == [Mention(*each) for each in expected]


def test_score_is_unknown_where_nothing_is_scored() -> None:
    unscored = Script(blocks=SCRIPT.blocks)

    assert unknown_names(parse("[score] + [answer]"), unscored, 4) == [Mention("score", 1)]
