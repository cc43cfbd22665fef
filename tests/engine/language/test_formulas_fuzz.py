"""Formulas, fuzzed: no text does harm, and a second evaluator agrees on random formulas.

The second evaluator walks its own trees in exact fractions; it shares no code with the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from surveys.engine.language.formulas import parse
from surveys.engine.language.lexer import MAX_LENGTH, ParseError
from surveys.engine.language.values import Value
from tests.support.cases import try_each
from tests.support.effort import examples

# Trees of the second evaluator: tuples that begin with what they are.
#   ("number", text)  ("name", str)  ("minus", tree)  ("+" | "-" | "*" | "/", tree, tree)
#   ("argmax", [name, ...])  ("if", condition, value, value)  ("words" | "string", text)
#   conditions: a tree, (sign, side, side), ("and" | "or", [condition, ...]), ("not", condition)
Tree = tuple[Any, ...]
Known = Mapping[str, Value]

NAMES = ["a", "b", "Fav game", "x-1", "Ünï", "nobody"]
SIGNS = ["==", "=", "!=", "<", "<=", ">", ">="]
WORDS = ["Yes", "You're great!", "Fire Mage (hot)", "a > b; 50% [a]", "iffy", "👍", "What-if", "not 1"]
STRINGS = ["", "Yes", "if then else", "5", "0", "-0.50", "chess", ")"]

digits = st.sampled_from(["0", "1", "2", "3", "7", "10", "0.5", "0.1", "0.25", "007", "1.10", "123456.789"])
plain = st.sampled_from(["0", "-1", "3", "0.5", "-2.5", "10", "7.00"])
known_values: st.SearchStrategy[dict[str, Value]] = st.dictionaries(
    st.sampled_from(NAMES[:-1]),
    plain.map(Decimal) | plain | st.sampled_from(["chess", "Yes", "1e5", "false", ("5",), ("Yes", "no"), ()]),
)


class Grower:
    """Random trees, each kind of part no deeper than it is given room."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw

    def one_of(self, kinds: Sequence[str], room: int) -> str:
        return str(self.draw(st.sampled_from(kinds[: None if room > 0 else 3])))

    def amount(self, room: int) -> Tree:
        kind = self.one_of(["number", "name", "argmax", "minus", "if", "if", "+", "-", "*", "/"], room)
        match kind:
            case "number":
                return (kind, self.draw(digits))
            case "name":
                return (kind, self.draw(st.sampled_from(NAMES)))
            case "argmax":
                return (kind, self.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3)))
            case "minus":
                return (kind, self.amount(room - 1))
            case "if":
                return (kind, self.condition(room - 1), self.value(room - 1), self.value(room - 1))
        return (kind, self.amount(room - 1), self.amount(room - 1))

    def value(self, room: int) -> Tree:
        kind = self.one_of(["words", "string", "amount", "amount", "amount"], room)
        return self.amount(room) if kind == "amount" else self.text(kind)

    def text(self, kind: str) -> Tree:
        return (kind, self.draw(st.sampled_from(WORDS if kind == "words" else STRINGS)))

    def side(self, room: int) -> Tree:
        return self.text("string") if self.draw(st.integers(0, 4)) == 0 else self.amount(room)

    def condition(self, room: int) -> Tree:
        kind = self.one_of(["amount", "compare", "compare", "compare", "not", "and", "or"], room)
        match kind:
            case "amount":
                return self.amount(room - 1)
            case "compare":
                return (self.draw(st.sampled_from(SIGNS)), self.side(room - 1), self.side(room - 1))
            case "not":
                return (kind, self.condition(room - 1))
        return (kind, [self.condition(room - 1) for _ in range(self.draw(st.integers(2, 3)))])


class Writer:
    """A tree as text, with parentheses where precedence needs them, and at random elsewhere; so are
    spaces and the case of keywords."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw

    def whim(self) -> bool:
        return bool(self.draw(st.sampled_from([False, False, False, True])))

    def gap(self) -> str:
        return str(self.draw(st.sampled_from(["", "", " ", "  ", "\n", "\t", "\u00a0"])))

    def keyword(self, word: str) -> str:
        cased = self.draw(st.sampled_from([word, word.upper(), word.title()]))
        return f" {self.gap()}{cased}{self.gap()} "

    def token(self, name: str) -> str:
        return self.draw(st.sampled_from(["[{}]", "[ {}]", "[{} ]"])).format(name)

    def formula(self, tree: Tree, floor: int = 0) -> str:
        """`floor`: 1 or, 2 and, 3 not, 4 comparison, 5 sum, 6 product, 7 factor, 8 operand."""
        level, text = self.bare(tree)
        if level < floor or (tree[0] != "words" and self.whim()):
            text = f"({self.gap()}{text}{self.gap()})"
        return text

    def bare(self, tree: Tree) -> tuple[int, str]:
        match tree:
            case ("number", text):
                return 8, str(text)
            case ("name", name):
                return 8, self.token(name)
            case ("string", text):
                return 8, f'"{text}"'
            case ("argmax", listed):
                inside = f"{self.gap()},{self.gap()}".join(map(self.token, listed))
                return 8, f"{self.keyword('argmax').strip()}{self.gap()}({self.gap()}{inside})"
            case ("minus", part):
                return 7, f"-{self.gap()}{self.formula(part, 7)}"
            case ("if", condition, value, otherwise):
                pieces = [
                    self.keyword("if").lstrip(),
                    self.formula(condition, 1),
                    self.keyword("then"),
                    self.value(value),
                    self.keyword("else"),
                    self.value(otherwise),
                ]
                return 0, "".join(pieces)
            case ("and" | "or" as join, parts):
                level = 1 if join == "or" else 2
                return level, self.keyword(join).join(self.formula(part, level + 1) for part in parts)
            case ("not", part):
                return 3, f"{self.keyword('not')}{self.formula(part, 3)}"
            case (sign, left, right) if sign in SIGNS:
                level = 4
            case (sign, left, right):
                level = 5 if sign in "+-" else 6
        first = self.formula(left, level + (level == 4))
        return level, f"{first}{self.gap()}{sign}{self.gap()}{self.formula(right, level + 1)}"

    def value(self, tree: Tree) -> str:
        return str(tree[1]) if tree[0] == "words" else self.formula(tree)


@st.composite
def written_trees(draw: Callable[[st.SearchStrategy[Any]], Any]) -> tuple[Tree, str]:
    tree = Grower(draw).amount(room=3)
    return tree, Writer(draw).formula(tree)


# --- The second evaluator -------------------------------------------------------------------------


def parsed(value: Value | Fraction) -> Fraction | None:
    if isinstance(value, tuple):
        return parsed(value[0]) if len(value) == 1 else None
    if isinstance(value, Fraction):
        return value
    text = str(value)
    return Fraction(text) if re.fullmatch("-?[0-9]+([.][0-9]+)?", text, re.ASCII) else None


def amount(tree: Tree, known: Known) -> Fraction:
    return parsed(meaning(tree, known)) or Fraction(0)


def meaning(tree: Tree, known: Known) -> Any:
    """A fraction or a text."""
    match tree:
        case ("number", text):
            return Fraction(text)
        case ("name", name):
            value = known.get(name) or "0"
            number = parsed(value)
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            return shown if number is None else number
        case ("string" | "words", text):
            return text
        case ("argmax", listed):
            return max(listed, key=lambda name: amount(("name", name), known)).upper()
        case ("if", condition, value, otherwise):
            return meaning(value if holds(condition, known) else otherwise, known)
        case ("minus", part):
            return -amount(part, known)
        case (sign, left, right):
            first, second = amount(left, known), amount(right, known)
            if sign == "/":
                return first / second if second else Fraction(0)
            return {"+": first + second, "-": first - second, "*": first * second}[sign]
    raise AssertionError(tree)


def holds(tree: Tree, known: Known) -> bool:
    match tree:
        case ("not", part):
            return not holds(part, known)
        case ("and", parts):
            return all(holds(part, known) for part in parts)
        case ("or", parts):
            return any(holds(part, known) for part in parts)
        case (sign, left, right) if sign in ("==", "=", "!="):
            first, second = side(left, known), side(right, known)
            return (first == second) is (sign != "!=")
        case (sign, left, right) if sign in SIGNS:
            gap = amount(left, known) - amount(right, known)
            return {"<": gap < 0, "<=": gap <= 0, ">": gap > 0, ">=": gap >= 0}[sign]
    value = meaning(tree, known)
    number = parsed(value)
    return value not in ("", "false") if number is None else number != 0


def side(tree: Tree, known: Known) -> Any:
    if tree[0] == "name" and isinstance(value := known.get(tree[1]), tuple) and len(value) > 1:
        return value
    value = meaning(tree, known)
    number = parsed(value)
    return value if number is None else number


def to_six_places(number: Fraction) -> Fraction:
    """Half up, away from 0."""
    scaled = (abs(number) * 10**6 * 2 + 1) // 2
    return Fraction(scaled if number >= 0 else -scaled, 10**6)


@settings(max_examples=examples(400))
@given(written_trees(), known_values)
def test_a_second_evaluator_agrees(written: tuple[Tree, str], known: dict[str, Value]) -> None:
    tree, text = written
    expected = meaning(tree, known)

    result = parse(text).evaluate(known.get, str.upper)

    if isinstance(result, str):
        assert result == expected
    else:
        assert to_six_places(Fraction(result)) == to_six_places(expected)


anything: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.text(max_size=5) | st.booleans() | st.decimals(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@settings(max_examples=examples(300))
@given(written_trees(), st.dictionaries(st.sampled_from(NAMES), anything))
def test_no_value_raises(written: tuple[Tree, str], known: dict[str, Value]) -> None:
    result = parse(written[1]).evaluate(known.get, str)

    assert isinstance(result, str) or (result.is_finite() and abs(result) < Decimal("1E100"))
    assert str(result) != "-0"


# --- No text does harm ----------------------------------------------------------------------------


def is_harmless(text: str) -> None:
    fault: ParseError | None = None
    try:
        formula = parse.__wrapped__(text)
    except ParseError as caught:
        fault = caught
    if fault is not None:
        assert 1 <= fault.column <= len(text) + 1
        assert fault.message.endswith(".")
        return
    assert isinstance(formula.evaluate(lambda name: None, str), Decimal | str)
    for mention in formula.mentions:
        assert text[mention.column - 1] == "["
        assert text[mention.column :].lstrip().startswith(mention.name)


PIECES = [*SIGNS, "if", "then", "ELSE", "and", "or", "Not", "argmax", "argmax(", "[a]", "[x y]", "[", "]",
          "(", ")", ",", "-", "+", "*", "/", '"x"', '"', "5", ".", "'", "word", "true", "in", "&&", "≥", "👍",
          "¿", "\n", "\u00a0", "\x00", "“"]  # fmt: skip
nonsense = st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)


@settings(max_examples=examples(300))
@given(st.text(max_size=200) | nonsense | nonsense.map(lambda text: text.replace(" ", "")))
def test_no_text_raises_anything_but_a_fault(text: str) -> None:
    is_harmless(text)


@settings(max_examples=examples(300))
@given(written_trees(), st.data())
def test_no_text_near_the_grammar_raises_anything_but_a_fault(
    written: tuple[Tree, str], data: st.DataObject
) -> None:
    text = written[1]
    cut = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(cut, min(len(text), cut + 3)))

    is_harmless(text[:cut] + data.draw(st.sampled_from(["", *PIECES])) + text[until:])


@try_each(
    "pattern",
    ["(", "-(", "-", "NOT ", "NOT(", "if ", "if(", "if 1 then ", "if 1 then x else ", "(if 1 then x else ",
     "if 1 then (", "if NOT (", "argmax(", "argmax([a],", "[a]+", "[a]*(", "1", "1/", "1 == ", "if 1 or ",
     "x(", "if 1 then x(", '"', "[", "[a", "if (if ", ")", " ", "9" * 99 + "*", "if 1==1+1*(if 0 or 1 and "],
)  # fmt: skip
def test_repeated_patterns_do_no_harm(pattern: str) -> None:
    text = (pattern * MAX_LENGTH)[:MAX_LENGTH]

    is_harmless(text)
    for end in ("1", ")" * 40, " then 1 else 0", "x"):
        is_harmless(text[: MAX_LENGTH - len(end)] + end)
        is_harmless(pattern * 45 + "1" + end)
