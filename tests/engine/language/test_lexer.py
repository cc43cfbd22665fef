"""The lexer: tokens, their columns, and the errors for anything else."""

from __future__ import annotations

import pytest

from surveys.engine.language.lexer import FORMULA, NAME_PATTERN, ParseError, Token, lex
from tests.support.cases import try_each


def kinds_and_texts(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in lex(text)[:-1]]


def test_tokens_know_their_place() -> None:
    tokens = lex('Age  >= 18\n"x"')

    assert tokens == [
        Token("name", "Age", 0),
        Token("symbol", ">=", 5),
        Token("number", "18", 8),
        Token("string", '"x"', 11),
        Token("end", "", 14),
    ]
    assert [token.column for token in tokens] == [1, 6, 9, 12, 15]


@try_each(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n\u00a0", []),
        ("in_store android NOTq1 order", [("name", w) for w in ["in_store", "android", "NOTq1", "order"]]),
        ("q1 Q1 a_ x2", [("name", w) for w in ["q1", "Q1", "a_", "x2"]]),
        ("größe Ж имя_2 नाम", [("name", w) for w in ["größe", "Ж", "имя_2", "नाम"]]),
        ("5-3", [("number", "5"), ("symbol", "-"), ("number", "3")]),
        ("0.50 007", [("number", "0.50"), ("number", "007")]),
        ("2x", [("number", "2"), ("name", "x")]),
        ("<==", [("symbol", "<="), ("symbol", "=")]),
        ("a=-5", [("name", "a"), ("symbol", "="), ("symbol", "-"), ("number", "5")]),
        ("[1,2]", [("symbol", c) if c in "[,]" else ("number", c) for c in "[1,2]"]),
        ("+ - * / ( )", [("symbol", c) for c in "+-*/()"]),
        ('"it\'s \\ && <> [x]"', [("string", '"it\'s \\ && <> [x]"')]),
        ('"say ""hi""" """"', [("string", '"say ""hi"""'), ("string", '""""')]),
        ('"" "a"', [("string", '""'), ("string", '"a"')]),
    ],
)
def test_one_token(text: str, expected: list[tuple[str, str]]) -> None:
    """Rule 4.5."""
    assert kinds_and_texts(text) == expected


def test_a_formula_has_names_in_brackets() -> None:
    tokens = lex("[Fav-Game 2] * ( [ score ] + 1)", FORMULA)

    assert [(token.kind, token.text) for token in tokens] == [
        ("token", "Fav-Game 2"),
        ("symbol", "*"),
        ("symbol", "("),
        ("token", "score"),
        ("symbol", "+"),
        ("number", "1"),
        ("symbol", ")"),
        ("end", ""),
    ]
    assert [token.start for token in tokens] == [0, 13, 15, 17, 27, 29, 30, 31]


@try_each(
    ("text", "column", "message"),
    [
        ("a = 'x'", 5, 'Text is written in straight double quotes: "text".'),
        ("a = “x”", 5, 'Text is written in straight double quotes: "text".'),
        ("a = `x`", 5, 'Text is written in straight double quotes: "text".'),
        ("a && b", 3, "Write AND instead of &&."),
        ("a & b", 3, "Write AND instead of &."),
        ("a || b", 3, "Write OR instead of ||."),
        ("a | b", 3, "Write OR instead of |."),
        ("!a", 1, "Write NOT instead of !."),
        ("a <> 1", 3, "Write != instead of <>."),
        ("a =< 1", 3, "Write <= instead of =<."),
        ("a => 1", 3, "Write >= instead of =>."),
        ("a ≥ 1", 3, "Write >= instead of ≥."),
        ("a === 1", 3, "Write = to compare."),
        ("a !== 1", 3, "Write != for not equal."),
        ('a = "x', 5, 'This text is not closed: a " is missing at its end.'),
        ('a = "x"y"', 9, 'This text is not closed: a " is missing at its end.'),
        ("_a", 1, "A name must begin with a letter, not with _."),
        ("1_0", 2, "A name must begin with a letter, not with _."),
        ("a = .5", 5, "A number needs digits on both sides of its point, as in 0.5."),
        ("a = 5.", 6, "A number needs digits on both sides of its point, as in 0.5."),
        ("a.b", 2, "The character . has no meaning here."),
        ("a = ٣", 5, "The character ٣ has no meaning here."),
        ("a;b", 2, "The character ; has no meaning here."),
        ("a\x00", 2, "The character U+0000 has no meaning here."),
        ("a \ud800", 3, "The character U+D800 has no meaning here."),
    ],
)
def test_an_invalid_character_is_reported_with_its_column(text: str, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        lex(text)

    assert (caught.value.column, caught.value.message) == (column, message)


@try_each("name", ["a", "Fav game", "fav-game_2", "q1", "Größe", "имя", "नाम", "名前", "a" * 64, "And"])
def test_names_that_blocks_may_have(name: str) -> None:
    assert NAME_PATTERN.fullmatch(name)


@try_each(
    "name", ["", " a", "1a", "_a", "-a", "a.b", "a[b", 'a"', "a\n", "a\tb", "a" * 65, "½a", "²", "a²", "٣"]
)
def test_names_that_blocks_may_not_have(name: str) -> None:
    assert not NAME_PATTERN.fullmatch(name)
