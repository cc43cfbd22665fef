"""Errors in formulas: message, column, and the limits of length and nesting (rule 4.24)."""

from __future__ import annotations

import sys

import pytest

from surveys.engine.language.formulas import parse
from surveys.engine.language.lexer import MAX_LENGTH, ParseError
from tests.support.cases import try_each
from tests.support.engine.formulas import VALUES, result

EMPTY = "A formula cannot be empty. Write arithmetic, such as [score] * 2."
COMPARISON = "A comparison is only allowed between if and then, as in: if [score] > 5 then 1 else 0."
JOINS = "AND, OR and NOT are only allowed between if and then, as in: if NOT [score] then 1 else 0."
NO_ELSE = "This if has no else: write if ... then ... else ..."
NO_THEN = "then is missing: write if ... then ... else ..."
EARLY = "The formula ends too early: a number or a variable is missing."
OPEN = "This parenthesis is not closed: a ) is missing."
CHAIN = "Comparisons cannot be chained. Write [a] < [b] AND [b] < [c]."
NESTED_IF = "An if inside a formula needs parentheses: (if ... then ... else ...)."
WITH_TEXT = "Arithmetic with text is not possible."
ARGUMENTS = "argmax takes variables in brackets, as in argmax([score_a], [score_b])."
ALONE = "A formula cannot be text alone: text is allowed after then, after else and in comparisons."
NO_CONDITION = 'A condition cannot be text alone: compare it, as in [game] == "chess".'
MISSING_COMMA = "Separate the variables by commas, as in argmax([score_a], [score_b])."
ELSE_IF = "Write else if, in two words: if ... then ... else if ... then ... else ..."
NO_COMMAS = "An if takes no commas: write if ... then ... else ... Write a decimal point, as in 0.5."
COMMAS = "Only argmax takes commas. Write a decimal point, as in 0.5."


@try_each(
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
        ("([a] > 1) * 2", 6, "Arithmetic cannot contain conditions. Write (if [score] > 5 then 1 else 0)."),
        ("1 - (NOT 1)", 6, "Arithmetic cannot contain conditions. Write (if [score] > 5 then 1 else 0)."),
        ("if ([a] > 1) + 1 then 1 else 0", 9, "Arithmetic cannot contain conditions. "
         "Write (if [score] > 5 then 1 else 0)."),
        ("if ([a] > 1) == 1 then 1 else 0", 9, "Conditions are not compared: join them by AND, OR and NOT."),
        ("if [a] < [b] < [c] then 1 else 0", 14, CHAIN),
        ("if [a] == NOT 1 then 1 else 0", 11, "NOT needs parentheses here: write (NOT ...)."),
        ("if [a] NOT > 1 then 1 else 0", 8, "Write NOT before the whole comparison, as in NOT [score] > 5."),
        ("if [a] in [b] then 1 else 0", 8, "Formulas have no in: write comparisons joined by OR."),
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
         "Formulas have no true and false: write 1 and 0, or text in double quotes."),
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
        ("+1", 1, "A + must be between two numbers."),
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
        (".5 + 1", 1, "A number needs digits on both sides of its point, as in 0.5."),
        ('if [a] == "x then 1 else 0', 11, 'This text is not closed: a " is missing at its end.'),
    ],
)  # fmt: skip
def test_an_error_says_what_to_write_instead_and_where(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)

    error = caught.value
    assert (error.column, error.message, error.code) == (column, message, "syntax_error")


def test_a_formula_has_at_most_2000_characters() -> None:
    longest = "1 + " * 499 + "1234"

    assert len(longest) == MAX_LENGTH
    assert result(longest) == 499 + 1234
    with pytest.raises(ParseError) as caught:
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


@try_each(("opening", "core", "closing"), DEEPEST)
def test_a_formula_nests_at_most_50_deep(opening: str, core: str, closing: str) -> None:
    assert result(opening + core + closing) in (7, -7)
    with pytest.raises(ParseError) as caught:
        parse(opening + f"({core})" + closing)
    assert caught.value.code == "too_deep"
    assert "nest at most 50 deep" in caught.value.message


def frames() -> int:
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


@try_each(("opening", "core", "closing"), DEEPEST)
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
