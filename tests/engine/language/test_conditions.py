"""show_when and hide_when compile to preconditions that mean the same (rules 4.15 and 4.17)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surveys.engine.language.conditions import ConditionError, compile
from surveys.engine.language.expression_tree import Literal, Name
from surveys.engine.language.expressions import parse
from surveys.engine.language.lexer import NAME_PATTERN
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.names import is_reserved
from surveys.engine.language.references import resolve
from surveys.engine.script import ENOUGH_VIOLATIONS, Block, Script
from tests.support.cases import try_each

LEAF: dict[str, Any] = {"block": "Game", "op": "eq", "value": "chess"}


def group(key: str, *parts: object) -> dict[str, Any]:
    return {key: list(parts)}


def leaf(name: str = "a", op: str = "eq", value: object = 1) -> dict[str, Any]:
    return {"block": name, "op": op, "value": value}


@try_each(
    ("condition", "expected"),
    [
        (LEAF, 'Game = "chess"'),
        (leaf(op="ne"), "a != 1"),
        (leaf(op="lt"), "a < 1"),
        (leaf(op="gt"), "a > 1"),
        (leaf(op="gte"), "a >= 1"),
        (leaf(op="lte"), "a <= 1"),
        (leaf(op="in", value=["x", 1, True, -2.5]), 'a in ["x", 1, true, -2.5]'),
        (leaf(op="in", value=[]), "a in []"),
        (leaf(value=["x", "y"]), 'a = ["x", "y"]'),
        (leaf(value=False), "a = false"),
        (leaf(value=""), 'a = ""'),
        (leaf(value=0), "a = 0"),
        (leaf(value=1e20), "a = 100000000000000000000"),
        (leaf(value=1e-7), "a = 0.0000001"),
        (leaf(value=Decimal("1.50")), "a = 1.50"),
        (leaf(value="it's [x] && \\"), 'a = "it\'s [x] && \\"'),
        (leaf("Fav game-2"), "Fav_game_2 = 1"),
        (leaf("favGame"), "favGame = 1"),
        (leaf("score"), "Score = 1"),
        (leaf("Max_score_x"), "Max_score_x = 1"),
        (leaf("max-score-x"), "Max_Score_X = 1"),
        (leaf("answer"), "Answer = 1"),
        (leaf("q1"), "Q1 = 1"),
        (leaf("q 1"), "q_1 = 1"),
        (leaf("AND"), "(And) = 1"),
        (leaf("in", "in", [1]), "(In) in [1]"),
        ({"variable": "score_mage", "op": "gte", "value": 3}, "score_mage >= 3"),
        ({"variable": "q3", "op": "eq", "value": "x"}, 'q3 = "x"'),
        ({"variable": "(And)", "op": "eq", "value": "x"}, '(And) = "x"'),
        (leaf(" a b "), "a_b = 1"),
        ({**LEAF, "variable": None, "all": None, "any": None, "note": "ignored"}, 'Game = "chess"'),
        (group("all", LEAF), 'Game = "chess"'),
        (group("any", group("all", group("any", LEAF))), 'Game = "chess"'),
        (group("all", leaf("a"), leaf("b"), leaf("c")), "a = 1 AND b = 1 AND c = 1"),
        (group("any", leaf("a"), leaf("b")), "a = 1 OR b = 1"),
        (group("all", leaf("a"), group("any", leaf("b"), leaf("c"))), "a = 1 AND (b = 1 OR c = 1)"),
        (group("any", group("all", leaf("a"), leaf("b")), leaf("c")), "(a = 1 AND b = 1) OR c = 1"),
        (group("all", group("all", leaf("a"), leaf("b")), leaf("c")), "(a = 1 AND b = 1) AND c = 1"),
    ],
)
def test_a_condition_compiles_to_a_hide_expression(condition: dict[str, Any], expected: str) -> None:
    assert compile(condition, hide=True) == expected
    assert compile(condition, hide=False) == f"NOT(({expected}))"


@try_each(
    ("condition", "expected"),
    [
        ({}, [("", "required")]),
        ({"all": None, "note": 1}, [("", "required")]),
        ({**LEAF, "variable": "score"}, [("", "conflicting")]),
        ({"op": "eq", "value": 1}, [("", "required")]),
        ({"block": "Game"}, [("op", "required"), ("value", "required")]),
        ({"block": "Game", "op": "eq"}, [("value", "required")]),
        ({**LEAF, "value": None}, [("value", "required")]),
        ({**LEAF, "op": "like"}, [("op", "invalid_choice")]),
        ({**LEAF, "op": ["eq"]}, [("op", "invalid_choice")]),
        ({**LEAF, "op": "in"}, [("value", "invalid_type")]),
        ({**LEAF, "value": 'a "quote"'}, [("value", "invalid")]),
        ({**LEAF, "value": {"a": 1}}, [("value", "invalid_type")]),
        (
            leaf(op="in", value=["x", ["y"], None, '"']),
            [("value[1]", "invalid_type"), ("value[2]", "invalid_type"), ("value[3]", "invalid")],
        ),
        (leaf(value=float("nan")), [("value", "invalid")]),
        (leaf(value=float("inf")), [("value", "invalid")]),
        (leaf(value=Decimal("sNaN")), [("value", "invalid")]),
        (leaf(value=10**5000), [("value", "too_large")]),
        (leaf(value=Decimal("1E+100000000")), [("value", "too_large")]),
        (leaf(value=1e300), []),
        (leaf(name=""), [("block", "invalid")]),
        (leaf(name="1a"), [("block", "invalid")]),
        (leaf(name='a" OR true OR a = "'), [("block", "invalid")]),
        (leaf(name="a" * 65), [("block", "invalid")]),
        (leaf(name="TRUE"), [("block", "not_allowed")]),
        ({**LEAF, "block": 5}, [("block", "invalid_type")]),
        ({"variable": 5, "op": "eq", "value": 1}, [("variable", "invalid_type")]),
        ({"variable": "a OR b", "op": "eq", "value": 1}, [("variable", "invalid")]),
        ({"variable": "true", "op": "eq", "value": 1}, [("variable", "invalid")]),
        ({"variable": "NOT a", "op": "eq", "value": 1}, [("variable", "invalid")]),
        ({"variable": " a", "op": "eq", "value": 1}, [("variable", "invalid")]),
        ({"variable": "a = 1", "op": "eq", "value": 1}, [("variable", "invalid")]),
        ({"variable": "and", "op": "eq", "value": 1}, [("variable", "invalid")]),
        ({"variable": "", "op": "eq", "value": 1}, [("variable", "invalid")]),
        ({"all": [LEAF], "any": [LEAF]}, [("", "conflicting")]),
        ({"all": [LEAF], "op": "eq"}, [("", "conflicting")]),
        ({"all": []}, [("all", "too_few")]),
        ({"any": LEAF}, [("any", "invalid_type")]),
        ({"any": [LEAF, "x", None]}, [("any[1]", "invalid_type"), ("any[2]", "invalid_type")]),
        (
            {"all": [{"any": [{"block": "1", "op": "?", "value": '"'}]}, {}]},
            [
                ("all[0].any[0].block", "invalid"),
                ("all[0].any[0].op", "invalid_choice"),
                ("all[0].any[0].value", "invalid"),
                ("all[1]", "required"),
            ],
        ),
        (leaf(value="x" * 2000), [("", "too_long")]),
        (group("any", *[leaf()] * 240), [("", "too_long")]),
        (group("any", *[leaf()] * 300), [("any", "too_many")]),
        (group("any", *[group("all", *[leaf()] * 200)] * 2), [("", "too_long")]),
        (group("any", *[{}] * 200), [(f"any[{n}]", "required") for n in range(ENOUGH_VIOLATIONS)]),
        (leaf(op="in", value=[1] * 1_001), [("value", "too_many")]),
    ],
)
def test_all_problems_of_a_condition_are_reported(
    condition: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    if not expected:
        assert compile(condition, hide=False)
        return

    with pytest.raises(ConditionError) as caught:
        compile(condition, hide=False)

    assert [(path, code) for path, code, _ in caught.value.problems] == expected
    assert all(message.endswith(".") for _, _, message in caught.value.problems)


def test_a_condition_nests_at_most_50_deep() -> None:
    condition: dict[str, Any] = LEAF
    for _ in range(49):
        condition = group("all", condition)

    assert compile(condition, hide=False) == 'NOT((Game = "chess"))'
    with pytest.raises(ConditionError) as caught:
        compile(group("any", condition), hide=False)
    assert [code for _, code, _ in caught.value.problems] == ["too_deep"]


@try_each("depth", [1000, 100_000])
def test_a_bottomless_condition_is_a_fault(depth: int) -> None:
    condition: dict[str, Any] = LEAF
    for _ in range(depth):
        condition = group("all", LEAF, condition)

    with pytest.raises(ConditionError):
        compile(condition, hide=True)
    while "all" in condition:  # taken apart by hand: freeing it at once would recurse
        condition = condition["all"].pop()


AWKWARD = [
    "And",
    "OR",
    "not",
    "In",
    "q1",
    "Q1",
    "q0",
    "score",
    "Answer",
    "max score",
    "a b",
    "a-b",
    "e_",
    "ß",
]
LEGAL_NAMES = st.one_of(
    st.sampled_from(AWKWARD),
    st.from_regex(r"\A[A-Za-zäßéЖя名][A-Za-z0-9_ äßéЖя名\-]{0,12}\Z"),
).filter(lambda name: NAME_PATTERN.fullmatch(name) is not None and not is_reserved(name))


@given(LEGAL_NAMES, st.booleans(), st.booleans())
def test_a_block_of_any_legal_name_is_meant_by_its_condition(name: str, hide: bool, scored: bool) -> None:
    script = Script(
        blocks=(Block("open_text", name="Zzz"), Block("open_text", name=name)), scoring_enabled=scored
    )
    condition = group("any", leaf(name), leaf(name.upper(), "in", [1]))

    expression = parse(compile(condition, hide=hide))

    if "ß" not in name:  # its capitals are SS, which is another name
        assert {resolve(mention.name, script) for mention in expression.mentions} == {1}
    assert resolve(expression.mentions[0].name, script) == 1


LITERALS = st.one_of(
    st.booleans(),
    st.integers(-(10**18), 10**18),
    st.text(st.characters(exclude_characters='"', exclude_categories=["Cs"]), max_size=10),
)
LEAVES = st.builds(
    lambda name, op, value: {"block": name, "op": op, "value": value},
    st.sampled_from(["A", "Bb", "And"]),
    st.sampled_from(["eq", "ne", "lt"]),
    LITERALS,
) | st.builds(lambda value: {"block": "C", "op": "in", "value": value}, st.lists(LITERALS, max_size=3))
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda key, parts: {key: parts},
        st.sampled_from(["all", "any"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


def as_tree(condition: dict[str, Any]) -> Conjunction | Disjunction | Comparison | Name | Literal | Negation:
    """The tree of a condition, built without the text in between."""
    for key, node in (("all", Conjunction), ("any", Disjunction)):
        if key in condition:
            parts = tuple(as_tree(part) for part in condition[key])
            return node(parts) if len(parts) > 1 else parts[0]
    sign = {"eq": "=", "ne": "!=", "lt": "<", "in": "in"}[condition["op"]]
    value = condition["value"]
    value = tuple(map(as_value, value)) if isinstance(value, list) else as_value(value)
    return Comparison(sign, Name(condition["block"]), Literal(value))


def as_value(value: str | int | bool) -> str | Decimal | bool:
    return value if isinstance(value, str | bool) else Decimal(value)


@given(CONDITIONS)
def test_a_compiled_condition_parses_back_to_its_meaning(condition: dict[str, Any]) -> None:
    assert parse(compile(condition, hide=True)).tree == as_tree(condition)
    assert parse(compile(condition, hide=False)).tree == Negation(as_tree(condition))
