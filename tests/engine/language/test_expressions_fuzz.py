"""Skip logic, fuzzed: no text does harm, and a second evaluator agrees on random expressions.

The second evaluator walks its own trees by its own rules of comparison, in fractions; it shares no code
with the engine. Work is counted in calls, never in time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from communities.ground.sent_text import sent_text
from surveys.engine.language.expressions import parse, rename
from surveys.engine.language.lexer import FORMULA, MAX_LENGTH, ParseError, lex
from surveys.engine.language.values import Value
from surveys.engine.script import title_case
from tests.support.cases import try_each
from tests.support.effort import examples

# Trees of the second evaluator: tuples that begin with what they are.
#   ("or" | "and", [tree, ...])  ("not", tree)  (sign, tree, tree)  ("name", str)  ("literal", value)
Tree = tuple[Any, ...]

NAMES = ["A", "b", "Fav_game", "in_store", "android", "q1", "answer", "Ünï", "And", "Not"]
TEXTS = ["", "a", "A", "ab", "5", "5.0", "05", "-0", " 5 ", "1_0", "٣", "NaN", "Infinity", "1e5", "true"]
SIGNS = ["=", "==", "!=", "<", "<=", ">", ">=", "in"]

numbers = st.sampled_from(["0", "5", "-5", "5.00", "0.5", "10", "-0.0", "3", "1000000000000000000000.1"])
scalars = st.sampled_from(TEXTS) | numbers.map(Decimal) | st.booleans()
lists = st.lists(scalars, max_size=3).map(tuple)
answers = st.dictionaries(st.sampled_from(NAMES), scalars | lists | st.none())
operands = st.tuples(st.just("name"), st.sampled_from(NAMES)) | st.tuples(st.just("literal"), scalars | lists)


def grown(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    several = st.lists(inner, min_size=2, max_size=3)
    return (
        st.tuples(st.sampled_from(["or", "and"]), several)
        | st.tuples(st.just("not"), inner)
        | st.tuples(st.sampled_from(SIGNS), inner, inner)
    )


comparisons = st.tuples(st.sampled_from(SIGNS), operands, operands)
trees: st.SearchStrategy[Tree] = st.recursive(operands | comparisons, grown, max_leaves=10)


def written(tree: Tree, floor: int = 0) -> str:
    """The tree as text, with parentheses only where precedence needs them."""
    match tree:
        case ("name", name):
            return f"({name})" if name in ("And", "Not") else str(name)
        case ("literal", value):
            return literal(value)
        case ("not", part):
            level, text = 3, f"NOT {written(part, 3)}"
        case ("or" | "and" as join, parts):
            level = 1 if join == "or" else 2
            text = f" {join.upper()} ".join(written(part, level + 1) for part in parts)
        case (sign, left, right):
            level, text = 4, f"{written(left, 5)} {sign} {written(right, 5)}"
    return f"({text})" if level < floor else text


def literal(value: Value) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else format(value, "f")


def meaning(tree: Tree, known: Mapping[str, Value]) -> Value:
    """The second evaluator."""
    match tree:
        case ("name", name):
            return known.get(name)
        case ("literal", value):
            return value
        case ("not", part):
            return not truth(meaning(part, known))
        case ("or", parts):
            return any(truth(meaning(part, known)) for part in parts)
        case ("and", parts):
            return all(truth(meaning(part, known)) for part in parts)
        case (sign, left, right):
            return compared(sign, meaning(left, known), meaning(right, known))
    raise AssertionError(tree)


def parsed(value: Value) -> Fraction | str:
    """A single value in the form for comparisons: a fraction if it is a number, else a text."""
    plain = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    return Fraction(plain) if re.fullmatch("-?[0-9]+([.][0-9]+)?", plain, re.ASCII) else plain


def same(left: Value, right: Value) -> bool:
    """Equal numbers, or texts that are equal as they are stored: without spaces around them."""
    return parsed(left) == parsed(right) or sent_text(seen(left)) == sent_text(seen(right))


def truth(value: Value) -> bool:
    if value is None or value == ():
        return False
    return isinstance(value, tuple) or parsed(value) not in ("", "false", Fraction(0))


def compared(sign: str, left: Value, right: Value) -> bool:
    if left is None or right is None:
        return sign == "!="
    many_left = [parsed(part) for part in (left if isinstance(left, tuple) else (left,))]
    many_right = [parsed(part) for part in (right if isinstance(right, tuple) else (right,))]
    if sign == "in":
        if isinstance(right, tuple):
            return any(part in many_right for part in many_left)
        parts = left if isinstance(left, tuple) else (left,)
        return any(seen(part) in seen(right) for part in parts)
    if sign in ("=", "==", "!="):
        own = left if isinstance(left, tuple) else (left,)
        other = right if isinstance(right, tuple) else (right,)
        is_equal = len(own) == len(other) and all(map(same, own, other))
        return is_equal == (sign != "!=")
    first, second = many_left[:1], many_right[:1]
    if isinstance(left, tuple) or isinstance(right, tuple):
        return False
    if not isinstance(first[0], Fraction) or not isinstance(second[0], Fraction):
        return False
    gap = first[0] - second[0]
    return {"<": gap < 0, "<=": gap <= 0, ">": gap > 0, ">=": gap >= 0}[sign]


def seen(value: Value) -> str:
    """A single value as text to look in."""
    if isinstance(value, Decimal):
        digits = f"{value:f}"
        digits = re.sub(r"\.?0+$", "", digits) if "." in digits else digits
        return "0" if digits == "-0" else digits
    return str(value).lower() if isinstance(value, bool) else str(value)


@settings(max_examples=examples(600))
@given(trees, answers)
def test_a_second_evaluator_agrees(tree: Tree, known: dict[str, Value]) -> None:
    expression = parse(written(tree))

    assert expression.holds(known.get) is truth(meaning(tree, known))


@settings(max_examples=examples(200))
@given(trees, answers, st.permutations(NAMES))
def test_renaming_changes_the_names_and_nothing_else(
    tree: Tree, known: dict[str, Value], others: list[str]
) -> None:
    new = {"A": "b", "B": "A", "Fav_Game": "and", "And": "x y", "In_Store": "Größe-2", "Not": "In"}
    text = written(tree)

    renamed = rename(text, new)

    old_of = {title_case(name): old for old, name in new.items()}
    by_title = {title_case(name): value for name, value in known.items() if name not in ("q1", "answer")}

    def value_of(name: str) -> Value:
        if name in ("q1", "answer"):
            return known.get(name)
        return by_title.get(old_of.get(title_case(name), title_case(name)))

    before, after = parse(text), parse(renamed)
    assert len(before.mentions) == len(after.mentions)
    assert after.holds(value_of) is before.holds(known.get)
    assert rename(text, {}) == text


anything: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.text(max_size=5) | st.booleans() | st.decimals(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(trees, st.dictionaries(st.sampled_from(NAMES), anything))
def test_no_value_raises(tree: Tree, known: dict[str, Value]) -> None:
    assert parse(written(tree)).holds(known.get) in (True, False)


def steps(text: str) -> int:
    """How many Python functions are called to read a text, from the start."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    fault: ParseError | None = None
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        parse.__wrapped__(text)
    except ParseError as caught:
        fault = caught
    finally:
        sys.setprofile(before)
    assert fault is None or (1 <= fault.column <= len(text) + 1 and fault.message.endswith("."))
    return count


WORDS = [*NAMES, *SIGNS, "AND", "or", "Not", "in", "true", "(", ")", "[", "]", ",", "-", '"x"', '"', "5", ".",
         "&&", "'", "_", " ", "\n", "<>", "+", "\u00a0", "\x00", "“"]  # fmt: skip
nonsense = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)


@settings(max_examples=examples(300))
@given(st.text(max_size=200) | nonsense | nonsense.map(lambda text: text.replace(" ", "")))
def test_no_text_raises_anything_but_a_fault_or_takes_long(text: str) -> None:
    assert steps(text) <= 40 + 40 * len(text)


@settings(max_examples=examples(300))
@given(trees.map(written), st.data())
def test_no_text_near_the_grammar_raises_anything_but_a_fault(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(cut, min(len(text), cut + 3)))
    mutated = text[:cut] + data.draw(st.sampled_from(["", *WORDS])) + text[until:]

    assert steps(mutated) <= 40 + 40 * len(mutated)


@try_each(
    "pattern",
    ["(", "NOT ", "NOT(", "(a=", "a AND (", "[", "[1,", "a=", "-", '"', '""', "a ", "a OR ", "NOT a AND ",
     "((a) OR ", "1", "1.", "(and)", "(and", " ", "&", "!", "<", "a in [1] OR "],
)  # fmt: skip
def test_repeated_patterns_take_work_in_proportion(pattern: str) -> None:
    text = (pattern * MAX_LENGTH)[:MAX_LENGTH]

    assert steps(text) <= 40 * MAX_LENGTH
    assert steps(text + "x") <= 40  # too long is seen before anything is read


@given(st.text(alphabet="[]ab 1-_.\"'+*/()é", max_size=80))
def test_tokens_cover_a_text_in_order(text: str) -> None:
    for grammar in (None, FORMULA):
        try:
            tokens = lex(text) if grammar is None else lex(text, grammar)
        except ParseError:
            continue
        starts = [token.start for token in tokens]
        assert starts == sorted(set(starts))
        assert len(tokens) <= len(text) + 1
        assert tokens[-1] == ("end", "", len(text))
