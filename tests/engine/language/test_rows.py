"""The text of a precondition is converted to equivalent rows, or the error says why it cannot be."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surveys.engine.language import conditions, rows
from surveys.engine.language.expressions import parse
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.rows import NotRowsError
from surveys.engine.language.values import Value
from tests.support.cases import try_each

NAMES = ["A", "b", "Fav_game", "evenings", "q1", "answer", "score_x", "field.utm_source", "Ünï", "And"]
LISTS = {"evenings", "q1"}
NUMBERS = ["0", "5", "-5", "5.00", "0.5", "1000000000000000000000.1", "9007199254740993"]
TEXTS = ["", "a", "ab", "5", "5.0", "true", "ü [x]"]


def leaf(subject: str = "a", op: str = "eq", value: object = 1, kind: str = "block") -> dict[str, Any]:
    return {kind: subject, "op": op, "value": value}


def show(condition: object) -> tuple[str, object]:
    return "show_when", condition


def hide(condition: object) -> tuple[str, object]:
    return "hide_when", condition


@try_each(
    ("text", "expected"),
    [
        ('NOT((game = "chess"))', show(leaf("game", "eq", "chess"))),
        ("not a == 1", show(leaf())),
        ("a = 1", hide(leaf())),
        ("a != 1", hide(leaf(op="ne"))),
        ("a >= -2.5", hide(leaf(op="gte", value=-2.5))),
        ("3 < a", hide(leaf(op="gt", value=3))),
        ("3 >= a", hide(leaf(op="lte", value=3))),
        ("3 = a", hide(leaf(value=3))),
        ('a in ["x", 1, true]', hide(leaf(op="in", value=["x", 1, True]))),
        ('a = ["x", "y"]', hide(leaf(value=["x", "y"]))),
        ("a in []", hide(leaf(op="in", value=[]))),
        ("q3 = 1", hide(leaf("q3", kind="variable"))),
        ("score_fire >= 3", hide(leaf("score_fire", "gte", 3, "variable"))),
        ('field.utm_source = "mail"', hide(leaf("field.utm_source", value="mail", kind="variable"))),
        ("Score = 1", hide(leaf("Score"))),
        ("(and) = 1", hide(leaf("and"))),
        (f"{'a' * 65} = 1", hide(leaf("a" * 65, kind="variable"))),
        ("a = 1 AND b = 2", hide({"all": [leaf(), leaf("b", value=2)]})),
        ("NOT (a = 1 OR b = 2)", show({"any": [leaf(), leaf("b", value=2)]})),
        (
            "a = 1 AND (b = 2 OR NOT c = 3)",
            hide({"all": [leaf(), {"any": [leaf("b", value=2), leaf("c", "ne", 3)]}]}),
        ),
        (
            "a = 1 AND NOT (b = 2 OR c != 3)",
            hide({"all": [leaf(), {"all": [leaf("b", "ne", 2), leaf("c", value=3)]}]}),
        ),
        ("a = 1 AND NOT b < 3", show({"any": [leaf(op="ne"), leaf("b", "lt", 3)]})),
        ("NOT NOT a < 3", hide(leaf(op="lt", value=3))),
        ("NOT a < 3 OR NOT b < 3", show({"all": [leaf(op="lt", value=3), leaf("b", "lt", 3)]})),
        ('"x" in evenings', hide(leaf("evenings", "in", ["x"]))),
        ('NOT (["x", "y"] in evenings)', show(leaf("evenings", "in", ["x", "y"]))),
        ("a = 5.00", hide(leaf(value=5))),
    ],
)
def test_an_expression_reads_as_rows(text: str, expected: tuple[str, object]) -> None:
    read = rows.read(text, holds_list=LISTS.__contains__)

    assert (read.field, read.condition) == expected


@try_each(
    ("text", "column", "word"),
    [
        ("a = 1 AND score", 11, "stands alone"),
        ("true", None, "stands alone"),
        ("a = b", 3, "another block"),
        ("a = 1 AND 2 = 2", 13, "needs a block"),
        ("(a = 1) = true", 9, "another comparison"),
        ('a in "abc"', 3, "part of a text"),
        ('"x" in a', 5, "part of a text"),
        ("a < 1 AND NOT b < 3", 17, "NOT before <"),
        ('a > 1 OR NOT b in ["x"]', 16, "NOT before in"),
        ("a = 9007199254740993", 3, "exactly"),
        ("a in [1000000000000000000000.1]", 3, "exactly"),
    ],
)
def test_what_rows_cannot_say_is_told_with_its_column(text: str, column: int | None, word: str) -> None:
    with pytest.raises(NotRowsError) as caught:
        rows.read(text)

    assert caught.value.column == column
    assert word in caught.value.message
    assert caught.value.message.endswith(".")


def test_a_faulty_expression_is_a_parse_error() -> None:
    with pytest.raises(ParseError) as caught:
        rows.read("a = = 1")

    assert caught.value.column == 5


def test_rows_that_would_be_too_long_as_text_are_refused() -> None:
    text = " AND ".join(["a=1"] * 240)

    with pytest.raises(NotRowsError, match="too large"):
        rows.read(text)


# --- Round trips ----------------------------------------------------------------------------------

scalars = st.sampled_from(TEXTS) | st.sampled_from(NUMBERS).map(Decimal) | st.booleans()
tuples = st.lists(scalars, max_size=3).map(tuple)
answers = st.fixed_dictionaries({name: (tuples if name in LISTS else scalars) | st.none() for name in NAMES})


def literal(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else format(value or 0, "f")


written_names = st.sampled_from(NAMES).map(lambda name: f"({name})" if name == "And" else name)
literals = (scalars | tuples).map(literal)
signs = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
comparisons = (
    st.builds("{} {} {}".format, written_names, signs, literals)
    | st.builds("{} {} {}".format, literals, signs, written_names)
    | st.builds("{} in {}".format, written_names, tuples.map(literal))
    | st.builds("{} in {}".format, literals, written_names)
)
texts = st.recursive(
    comparisons,
    lambda inner: (
        st.builds("NOT ({})".format, inner)
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: " AND ".join(f"({p})" for p in parts))
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: " OR ".join(f"({p})" for p in parts))
    ),
    max_leaves=6,
)


@given(texts, st.lists(answers, min_size=1, max_size=5))
def test_text_to_rows_to_text_means_the_same(text: str, given_answers: list[dict[str, Value]]) -> None:
    try:
        read = rows.read(text, holds_list=LISTS.__contains__)
    except NotRowsError:
        return

    before, after = parse(text), parse(read.text)
    for known in given_answers:
        assert before.holds(known.get) is after.holds(known.get)


json_scalars = st.sampled_from([*TEXTS, 0, 5, -5, 0.5, 1e20, True, False])
leaves = st.one_of(
    st.fixed_dictionaries(
        {
            "block": st.sampled_from(["a", "Fav game", "fav-game", "score", "And"]),
            "op": st.sampled_from(["eq", "ne", "lt", "gte"]),
            "value": json_scalars,
        }
    ),
    st.fixed_dictionaries(
        {
            "variable": st.sampled_from(["q1", "answer", "score_x", "field.utm_source"]),
            "op": st.just("in"),
            "value": st.lists(json_scalars, max_size=3),
        }
    ),
)
trees = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda key, parts: {key: parts},
        st.sampled_from(["all", "any"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)


@given(trees, st.booleans())
def test_rows_to_text_to_rows_to_text_is_the_same_text(condition: dict[str, Any], is_hide: bool) -> None:
    """So the rows compile to the same expression again, and every answer means the same to both."""
    text = conditions.compile(condition, hide=is_hide)

    read = rows.read(text)

    assert read.field == ("hide_when" if is_hide else "show_when")
    assert parse(read.text) == parse(text)
