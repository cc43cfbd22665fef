"""Formulas of calculated blocks in tables: arithmetic, conditionals, argmax (rules 4.22, 4.23 and 4.25)."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

from surveys.engine.language.formulas import parse
from surveys.engine.language.lexer import Mention
from surveys.engine.language.references import unknown_names
from surveys.engine.language.values import Value, number_text
from surveys.engine.script import Block, Bucket, Script
from tests.support.cases import try_each
from tests.support.engine.formulas import VALUES, result


def text_of(text: str) -> str:
    value = result(text)
    return number_text(value) if isinstance(value, Decimal) else f"'{value}'"


@try_each(
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
        # Too large to be written, and too small.
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
    assert text_of(text) == expected


@try_each(
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
        # Two dates are no text.
        ('[day] < "2026-02-01"', True),
        ('[day] >= "2026-02-01"', False),
        ('"2026-01-31" <= [day]', True),
        ("[day] < [later]", True),
        ('[day] < "2026-02-30"', False),
        ('[nobody] < "2026-02-01"', False),
        ("[day] < 1", True),
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


@try_each(
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
    assert text_of(text) == expected


def test_only_the_value_that_is_chosen_is_asked_for() -> None:
    asked: list[str] = []

    def value_of(name: str) -> Value:
        asked.append(name)
        return Decimal(1)

    parse("if [x] OR [y] then [fav game] else [z]").evaluate(value_of, str)

    assert asked == ["x", "fav game"]


def test_a_digitsis_rounded_to_40_digits_without_trailing_zeros() -> None:
    """Rule 4.26."""
    assert str(result("2 / 3")) == "0." + 39 * "6" + "7"
    assert str(result("[a] / 3 * 3")) == "1"
    assert str(result("2.50 * 1")) == "2.5"
    assert str(result("100")) == "100"
    assert str(result("0 * -1")) == "0"
    assert str(result("-0.0")) == "0"


def test_the_decimal_context_of_the_caller_does_not_matter() -> None:
    with localcontext(prec=2, Emax=2, Emin=-2) as context:
        context.clear_traps()
        for trap in context.traps:
            context.traps[trap] = True

        digits = str(parse("12345.678 / 7 + 0.001").evaluate(VALUES.get, str))

    assert digits == "1763.669285714285714285714285714285714286"


def test_names_are_listed_as_written_with_their_columns() -> None:
    formula = parse('if [Fav Game-2 ] == "[no]" then argmax([a],[ b]) else You [no] (x) ')

    assert formula.mentions == (Mention("Fav Game-2", 4), Mention("a", 40), Mention("b", 44))
    assert formula.source.startswith("if [Fav")


def test_a_formula_is_remembered() -> None:
    assert parse("[a] + 12") is parse("[a] + 12")
    assert parse("[a]+12") == parse("[a]  + 12")
    assert parse("[a]+12") != parse("[a]+13")


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


@try_each(
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
def test_names_that_always_count_as_0_are_listed_once_each(formula: str, expected: list[Any]) -> None:
    assert unknown_names(parse(formula), SCRIPT, 4) == [Mention(*each) for each in expected]


def test_score_is_unknown_if_scoring_is_off() -> None:
    unscored = Script(blocks=SCRIPT.blocks)

    assert unknown_names(parse("[score] + [answer]"), unscored, 4) == [Mention("score", 1)]
