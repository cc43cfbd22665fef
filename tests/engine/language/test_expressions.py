"""Skip logic: grammar, comparisons, faults, renames, in tables (rules 4.2, 4.3, 4.10, 4.11 and 4.14)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pytest

from surveys.engine.language import values
from surveys.engine.language.expression_tree import Literal, Name
from surveys.engine.language.expressions import parse, rename
from surveys.engine.language.lexer import Mention, ParseError
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Value
from tests.support.cases import try_each

ANSWERS: Mapping[str, Value] = {
    "Game": "chess",
    "Shout": "CHESS",
    "Age": Decimal("20"),
    "Half": Decimal("0.50"),
    "Zero": Decimal("0.0"),
    "Digits": "20.0",
    "Spaced": " 20 ",
    "Grouped": "2_0",
    "Arabic": "٢٠",
    "Exponent": "2e1",
    "Nan": "NaN",
    "Infinite": "Infinity",
    "Empty": "",
    "Nil": "0.00",
    "Yes": "true",
    "No": "false",
    "One": ("chess",),
    "Two": ("chess", "go"),
    "Numbers": ("1", "02"),
    "Nothing_Chosen": (),
    "Story": "I play chess.",
    "Day": "2026-01-31",
    "Quoted": 'say "hi"',
    "Flag": True,
    "Unset": False,
    "And": "keyword",
}


def holds(text: str) -> bool:
    return parse(text).holds(ANSWERS.get)


@try_each(
    ("text", "expected"),
    [
        # Text, exact in case.
        ('Game = "chess"', True),
        ('Game == "chess"', True),
        ('Game = "Chess"', False),
        ("Game = Shout", False),
        ('Game != "go"', True),
        ('Game = ""', False),
        ('Empty = ""', True),
        ('"chess" = Game', True),
        # Numbers, where both sides read as numbers.
        ("Age = 20", True),
        ('Age = "20"', True),
        ('Age = "20.00"', True),
        ("Age = 20.000", True),
        ("Age = 020", True),
        ("Age = -20", False),
        ("- 20 = -20.0", True),
        ("Half = 0.5", True),
        ('Quoted = "say ""hi"""', True),
        ('Quoted = "say hi"', False),
        ("Digits = 20", True),
        ('Digits = "20"', True),
        ("Digits = Age", True),
        ("0.1 = 0.10000000000000000000000000000000001", False),
        ("99999999999999999999999999999999999 = 99999999999999999999999999999999998", False),
        ("Zero = -0", True),
        # What Python would take for a number, but nobody else.
        ("Spaced < 21", False),
        ("Grouped = 20", False),
        ("Arabic = 20", False),
        ("Exponent = 20", False),
        ('Nan = "NaN"', True),
        ("Nan != Nan", False),
        ("Infinite > 5", False),
        ('Spaced = " 20 "', True),
        # Ordering, between numbers alone.
        ("Age > 18", True),
        ("Age > 20", False),
        ("Age >= 20", True),
        ("Age < 20", False),
        ("Age <= 20", True),
        ("Age < 100", True),
        ('Digits < "100"', True),
        ("18 < Age", True),
        ('Game < "d"', False),
        ('Game >= "a"', False),
        ("Game > 1", False),
        ("Game <= 1", False),
        ("One < 1", False),
        ("Numbers > 0", False),
        ("Flag > 0", False),
        ("Flag <= 1", False),
        # Truths are text to everything but themselves.
        ("Yes = true", True),
        ("Yes = TRUE", True),
        ("No = False", True),
        ("Yes = false", False),
        ("Flag = true", True),
        ('Flag = "true"', True),
        ('Flag = "True"', False),
        ("true = 1", False),
        ("false = 0", False),
        ("(Age > 18) = true", True),
        # Lists.
        ('One = "chess"', True),
        ('"chess" = One', True),
        ('Two = "chess"', False),
        ('Two != "chess"', True),
        ('Two = ["chess", "go"]', True),
        ('Two = ["go", "chess"]', False),
        ('Two = ["chess"]', False),
        ("Numbers = [1, 2]", True),
        ("Numbers = [1, 2, 3]", False),
        ("Nothing_Chosen = []", True),
        ("[] = []", True),
        ('Nothing_Chosen = ""', False),
        ("One = One", True),
        # in
        ('Game in ["go", "chess"]', True),
        ('Game in ["go"]', False),
        ("Game in []", False),
        ("Age in [10, 20]", True),
        ('Age in ["a", "20.0", true]', True),
        ('Yes in [1, "a", true]', True),
        ('"chess" in Two', True),
        ('"che" in Two', False),
        ("2 in Numbers", True),
        ('Two in ["go", "poker"]', True),
        ('Two in ["poker"]', False),
        ("[] in Two", False),
        ("[1] IN [1]", True),
        ('"chess" in Story', True),
        ('"Chess" in Story', False),
        ('["go", "play"] in Story', True),
        ("Two in Story", True),
        ('"" in Story', True),
        ("2 in Age", True),
        ("Game in Story", True),
        # No value: false, but for !=.
        ("Absent = 1", False),
        ('Absent = ""', False),
        ("Absent = false", False),
        ("Absent = Absent", False),
        ("Absent != 1", True),
        ("Absent != Absent", True),
        ("Game != Absent", True),
        ("Absent < 1", False),
        ("Absent >= 0", False),
        ("Absent in [1]", False),
        ("Absent = []", False),
        ("1 in Absent", False),
        ("NOT Absent = 1", True),
        # A name alone.
        ("Game", True),
        ("Age", True),
        ("Zero", False),
        ("Empty", False),
        ("Nil", False),
        ("No", False),
        ("Unset", False),
        ("Flag", True),
        ("Two", True),
        ("Nothing_Chosen", False),
        ("Absent", False),
        ("NOT Absent", True),
        ("Spaced", True),
        # Literals alone.
        ("true", True),
        ("FALSE", False),
        ("0", False),
        ("-1", True),
        ('""', False),
        ('"x"', True),
        ("[]", False),
        ("[0]", True),
        # Precedence.
        ("true OR false AND false", True),
        ("(true OR false) AND false", False),
        ("NOT false AND false", False),
        ("NOT (false AND false)", True),
        ('NOT Game = "go"', True),
        ("not NOT nOt false", True),
        ("false Or true aNd Age in [20]", True),
        ("false OR false OR true", True),
        ("true AND true AND false", False),
        # Dates.
        ('Day < "2026-02-01"', True),
        ('Day < "2026-01-31"', False),
        ('Day <= "2026-01-31"', True),
        ('Day > "2025-12-31"', True),
        ('Day >= "2026-02-01"', False),
        ('"2026-01-30" < Day AND Day = "2026-01-31"', True),
        ('Day < "2026-02-30"', False),
        ('Day < "9999" OR Day > 1', False),
        ('Story > "2026-01-31" OR Nobody < "2026-01-31"', False),
        # Names that look like keywords.
        ('(And) = "keyword"', True),
        ('NOT (And) = "x" AND (And)', True),
    ],
)
def test_an_expression_is_true_or_false(text: str, expected: bool) -> None:
    """Rules 4.5, 4.12 and 4.13."""
    assert holds(text) is expected


def test_the_names_are_listed_as_written_with_their_columns() -> None:
    expression = parse('favGame = "in" AND NOT (q1 in [1] or favGame) OR (Not) = true')

    assert expression.mentions == (
        Mention("favGame", 1),
        Mention("q1", 25),
        Mention("favGame", 38),
        Mention("Not", 51),
    )


def test_the_tree_follows_the_precedence() -> None:
    tree = parse('a OR NOT b AND c = "x" OR d').tree

    equals = Comparison("=", Name("c"), Literal("x"))
    assert tree == Disjunction((Name("a"), Conjunction((Negation(Name("b")), equals)), Name("d")))


def test_values_are_asked_by_the_name_as_written_and_only_as_needed() -> None:
    asked: list[str] = []

    def value_of(name: str) -> Value:
        asked.append(name)
        return None

    parse("Fav_game = 1 AND Later OR FAV_GAME").holds(value_of)

    assert asked == ["Fav_game", "FAV_GAME"]


@try_each(
    ("text", "column", "message"),
    [
        ("", 1, 'An expression cannot be empty. Write a condition, such as q1 = "Yes".'),
        ("  ", 1, 'An expression cannot be empty. Write a condition, such as q1 = "Yes".'),
        ("a < b < c", 7, "Comparisons cannot be chained. Write a < b AND b < c instead of a < b < c."),
        ("a = b != c", 7, "Comparisons cannot be chained. Write a < b AND b < c instead of a < b < c."),
        ("a in [1] in b", 10, "Comparisons cannot be chained. Write a < b AND b < c instead of a < b < c."),
        ("a AND (b = 1", 7, "This parenthesis is not closed: a ) is missing."),
        ("a)", 2, "This ) closes nothing: a ( is missing before it."),
        ("()", 2, "A name or a value is missing before this )."),
        ("(", 2, "The expression ends too early: a name or a value is missing."),
        ("a =", 4, "The expression ends too early: a name or a value is missing."),
        ("a AND", 6, "The expression ends too early: a name or a value is missing."),
        ("NOT", 4, "The expression ends too early: a name or a value is missing."),
        ("= 1", 1, "A name or a value is missing before =."),
        ("a = = 1", 5, "A name or a value is missing before =."),
        ("a AND OR b", 7, "A name or a value is missing before OR. A block named OR is written (OR)."),
        ("in = 1", 1, "A name or a value is missing before in. A block named in is written (in)."),
        ("a = NOT b", 5, "NOT needs parentheses here: write (NOT ...)."),
        ("a NOT IN [1]", 3, "Write NOT before the whole comparison, as in NOT (q1 in [1, 2])."),
        ("a - 1 = 2", 3, "In an expression, write _ for a - or a space in a name, as in Fav_Game."),
        ("a + 1 = 2", 3, "Skip logic has no arithmetic: compute the value in a calculated block."),
        ("1 - 1 = 2", 3, "Skip logic has no arithmetic: compute the value in a calculated block."),
        ("a = *", 5, "Skip logic has no arithmetic: compute the value in a calculated block."),
        ("a = -b", 5, "A minus must be followed by a number, as in -5."),
        ("a = --1", 5, "A minus must be followed by a number, as in -5."),
        (
            "Fav game = 1",
            5,
            "AND, OR or a comparison is missing before game. Write _ for a space in a name, as in Fav_Game.",
        ),
        ('a "x"', 3, 'AND, OR or a comparison is missing before "x".'),
        ("a = 5x", 6, "AND, OR or a comparison is missing before x."),
        ("a = 1, 2", 6, "Only a list in [brackets] takes commas. Join conditions by AND or OR."),
        (
            "a in [b]",
            7,
            'A list holds values, not names. Write text in double quotes: "b"; a name has no brackets.',
        ),
        ("a in [[1]]", 7, "A list cannot hold another list."),
        ("a in [1 2]", 9, "The values of a list are separated by commas."),
        ("a in [1,]", 9, "A value is missing before ]."),
        ("a in [1", 6, "This list is not closed: a ] is missing."),
        ("a in [", 6, "This list is not closed: a ] is missing."),
        ("a in [1,", 6, "This list is not closed: a ] is missing."),
    ],
)
def test_an_error_says_what_to_write_instead_and_where(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)

    error = caught.value
    assert (error.column, error.message, error.code) == (column, message, "syntax_error")


def test_an_expression_has_at_most_2000_characters() -> None:
    """Rule 4.4."""
    longest = "a = " + "1" * 1996

    assert parse(longest).source == longest
    with pytest.raises(ParseError) as caught:
        parse(longest + "1")
    assert (caught.value.code, caught.value.column) == ("too_long", 2001)


@try_each(("opening", "closing"), [("(", ")"), ("NOT ", ""), ("NOT(", ")")])
def test_an_expression_nests_at_most_50_deep(opening: str, closing: str) -> None:
    """Rule 4.4."""
    times = 25 if opening == "NOT(" else 50

    deepest = parse(opening * times + "a" + closing * times)

    assert deepest.holds(lambda name: True) is (opening != "NOT(")
    with pytest.raises(ParseError) as caught:
        parse(opening * (times + 1) + "a" + closing * (times + 1))
    assert caught.value.code == "too_deep"


def test_siblings_do_not_nest() -> None:
    expression = parse(" AND ".join(["NOT (a)"] * 150))

    assert expression.holds(lambda name: None)


@try_each(
    ("text", "expected"),
    [
        ("fav_game = 1", "Best_of_all = 1"),
        ('FAV_GAME="Fav_Game"and  Fav_game', 'Best_of_all="Fav_Game"and  Best_of_all'),
        ("NOT((Fav_Game in [1,  2]))", "NOT((Best_of_all in [1,  2]))"),
        ("Fav_Games = Fav", "Fav_Games = Fav"),
        ("q1 = Q1", "q1 = Q7"),
        ("score = Score", "score = Points"),
        ("score_a = 1", "score_a = 1"),
        ("Age = Size", "Size = Age"),
        ("To_Keyword AND a", "(And) AND a"),
        ("NOT To_Keyword", "NOT (And)"),
        ("(Or) = 1 OR (or)", "(Fine) = 1 OR (Fine)"),
        ("(In) = 1", "(Not) = 1"),
        ("To_Position = q1", "Q1 = q1"),
        ("To_Variable = answer", "Answer = answer"),
    ],
)
def test_a_rename_rewrites_names_alone(text: str, expected: str) -> None:
    renames = {
        "Fav_Game": "Best of-all",
        "Q1": "Q7",
        "Score": "Points",
        "Score_A": "Wrong",
        "Age": "Size",
        "Size": "Age",
        "To_Keyword": "and",
        "Or": "Fine",
        "In": "not",
        "To_Position": "q1",
        "To_Variable": "answer",
    }

    assert rename(text, renames) == expected


def test_without_the_variable_a_block_of_its_name_is_renamed() -> None:
    renamed = rename("score > 1 AND answer", {"Score": "Points", "Answer": "Wrong"}, variables={"answer"})

    assert renamed == "Points > 1 AND answer"


def test_a_rename_to_a_reserved_name_is_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        rename("b AND a = 1", {"A": "true"})

    assert caught.value.column == 7


@try_each(
    ("value", "expected"),
    [
        ("5", "5"),
        ("5.0", "5"),
        ("500", "500"),
        ("-0.0", "0"),
        ("0.1234565", "0.123457"),
        ("-2.50", "-2.5"),
        ("1E+3", "1000"),
        ("1E-9", "0"),
        ("123456789012345678901234567890.5", "123456789012345678901234567890.5"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("1E+999999", "1E+999999"),
        ("1E-999999", "0"),
    ],
)
def test_a_number_is_written_as_people_read_it(value: str, expected: str) -> None:
    """Rule 4.26."""
    assert values.number_text(Decimal(value)) == expected


@try_each(
    ("text", "is_number"),
    [
        *((text, True) for text in ("5", "-5", "0.5", "007", "9" * 100)),
        *((text, False) for text in ("", "5.", ".5", "+5", "- 5", " 5", "5\n", "1_0", "٣", "1e5", "NaN")),
        *((text, False) for text in ("Infinity", "0x1", "1,5", "9" * 101)),
    ],
)
def test_texts_that_read_as_numbers(text: str, is_number: bool) -> None:
    """Rule 4.10."""
    assert values.number(text) == (Decimal(text) if is_number else None)
