"""The formulas of calculated blocks: parse, tell the names used, evaluate (decisions 6.9 and 14.20).

Evaluation never fails; what cannot be computed is 0:

- A value that is unknown or unanswered is 0, and so is one that must be a number and is none: in
  arithmetic, in an ordering (`<` and its kin) and in argmax. A list of one counts as what is in it.
- Division by zero is 0, and so is a result of 10^100 or more.
- `==` and `!=` compare as skip logic does: as numbers where both sides read as numbers, else as text,
  exact in case. An unanswered value is 0 there too.
- A condition without a comparison holds where it is not 0; a variable alone also where it is text.
- A variable alone is its value, be it text; a list is told as its parts joined by commas.

Numbers are decimals, computed with 50 digits, given back with 40 and told apart by 28: so much of compared
values counts, and a difference that lies beyond is none. So `[a] / 3 * 3 - [a]` is 0, and a third that one
block computes and another takes three times is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import TypeAlias

from surveys.engine.language import formula_grammar, values
from surveys.engine.language.expression_grammar import Mention
from surveys.engine.language.formula_tree import (
    Argmax,
    Comparison,
    Conditional,
    Conjunction,
    Disjunction,
    FormulaNode,
    Negation,
    Negative,
    NumberLiteral,
    Product,
    Sum,
    TextLiteral,
    Variable,
)
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.values import Value

__all__ = ["MAX_LENGTH", "Formula", "Mention", "NameOf", "ParseError", "Result", "Value", "ValueOf", "parse"]

MAX_LENGTH = 2000

ValueOf: TypeAlias = Callable[[str], Value]  # gets a name as it is written in the brackets
NameOf: TypeAlias = Callable[[str], str]
Result: TypeAlias = Decimal | str

_DIGITS = 28
_DIGITS_GIVEN = 40
_WIDEST = 100  # digits before the point of a number that still counts, or zeros after it
_COMPUTE = Context(prec=50, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999, traps=[])
_GIVE = Context(prec=_DIGITS_GIVEN, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999, traps=[])
_ROUND = Context(prec=_DIGITS, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999, traps=[])
_ZERO = Decimal(0)

_ORDERINGS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "<": Decimal.__lt__,
    "<=": Decimal.__le__,
    ">": Decimal.__gt__,
    ">=": Decimal.__ge__,
}


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed formula. Two are equal where they compute the same by the same words."""

    source: str = field(compare=False)
    tree: FormulaNode
    mentions: tuple[Mention, ...] = field(compare=False)  # names in brackets, in the order of the text
    _result: Callable[[ValueOf, NameOf], Result] = field(compare=False, repr=False)

    def evaluate(self, value_of: ValueOf, name_of: NameOf) -> Result:
        """A number or a text. Never raises, whatever the values.

        `value_of` gives None for what is unknown or unanswered; `name_of` what argmax calls a variable.
        """
        return self._result(value_of, name_of)


@lru_cache(maxsize=1024)
def parse(text: str) -> Formula:
    """Read a formula; remembered by its text. Raises SyntaxFault, whose `code` is `syntax_error`,
    `too_long` (beyond 2,000 characters) or `too_deep` (nested beyond 50)."""
    if len(text) > MAX_LENGTH:
        message = f"A formula has at most {MAX_LENGTH:,} characters; this one has {len(text):,}."
        raise ParseError(message, MAX_LENGTH + 1, "too_long")
    tree, mentions = formula_grammar.read(text)
    return Formula(text, tree, mentions, _result(tree))


# --- What a value counts as -----------------------------------------------------------------------


def _number(value: Value) -> Decimal:
    """A value in arithmetic, unrounded."""
    while isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    number = values.number(value)
    return _ZERO if number is None else number


def rounded(number: Decimal, context: Context = _ROUND) -> Decimal:
    """A number as it is compared, or as `context` gives it back. Minus 0 is 0."""
    number = context.plus(number)
    if not number or not number.is_finite() or not -_WIDEST <= number.adjusted() < _WIDEST:
        return _ZERO
    whole = number.to_integral_value()
    return whole if whole == number else context.normalize(number)


def _compared(value: Value) -> Value:
    """A value as a side of `==`."""
    number = values.number(value)
    if number is not None:
        return rounded(number)
    return _ZERO if value is None or value == () or isinstance(value, Decimal) else value


def _alone(value: Value) -> Result:
    """A variable that is all there is of a formula."""
    known = _compared(value)
    if isinstance(known, tuple) and len(known) == 1:
        return _alone(known[0])
    return known if isinstance(known, Decimal) else values.text(known)


# --- Arithmetic -----------------------------------------------------------------------------------


def _plus(left: Decimal, right: Decimal) -> Decimal:
    total = _COMPUTE.add(left, right)
    if left and right and total.is_finite():
        greater = max(left.adjusted(), right.adjusted())
        if total.adjusted() < greater - _DIGITS:
            return _ZERO  # what is left is what rounding has left
    return total


def _divided(left: Decimal, right: Decimal) -> Decimal:
    return _COMPUTE.divide(left, right) if right else _ZERO


_STEPS: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {"*": _COMPUTE.multiply, "/": _divided}


# --- Tree → closures, no deeper than the formula nests --------------------------------------------


def _result(node: FormulaNode) -> Callable[[ValueOf, NameOf], Result]:
    """What a formula, or the value of an if, comes to."""
    match node:
        case Variable(name):
            return lambda value_of, name_of: _alone(value_of(name))
        case TextLiteral(text):
            return lambda value_of, name_of: text
        case Argmax(names):
            return _greatest(names)
        case Conditional():
            return _chosen(node)
        case _:
            amount = _amount(node)
            return lambda value_of, name_of: rounded(amount(value_of, name_of), _GIVE)


def _side(node: FormulaNode) -> Callable[[ValueOf, NameOf], Value]:
    """What is on one side of `==`."""
    if isinstance(node, Variable):
        name = node.name
        return lambda value_of, name_of: _compared(value_of(name))
    result = _result(node)
    return lambda value_of, name_of: _compared(result(value_of, name_of))


def _amount(node: FormulaNode) -> Callable[[ValueOf, NameOf], Decimal]:
    """What a part of arithmetic comes to, unrounded."""
    match node:
        case NumberLiteral(value):
            return lambda value_of, name_of: value
        case Variable(name):
            return lambda value_of, name_of: _number(value_of(name))
        case Negative(part):
            amount = _amount(part)
            return lambda value_of, name_of: amount(value_of, name_of).copy_negate()
        case Sum(parts):
            return _sum(tuple(map(_amount, parts)))
        case Product(first, steps):
            return _product(_amount(first), tuple((_STEPS[sign], _amount(part)) for sign, part in steps))
        case _:
            result = _result(node)
            return lambda value_of, name_of: _number(result(value_of, name_of))


def _sum(parts: tuple[Callable[[ValueOf, NameOf], Decimal], ...]) -> Callable[[ValueOf, NameOf], Decimal]:
    def total(value_of: ValueOf, name_of: NameOf) -> Decimal:
        total = parts[0](value_of, name_of)
        for part in parts[1:]:
            total = _plus(total, part(value_of, name_of))
        return total

    return total


def _product(
    first: Callable[[ValueOf, NameOf], Decimal],
    steps: tuple[tuple[Callable[[Decimal, Decimal], Decimal], Callable[[ValueOf, NameOf], Decimal]], ...],
) -> Callable[[ValueOf, NameOf], Decimal]:
    def product(value_of: ValueOf, name_of: NameOf) -> Decimal:
        product = first(value_of, name_of)
        for step, part in steps:
            product = step(product, part(value_of, name_of))
        return product

    return product


def _greatest(names: tuple[str, ...]) -> Callable[[ValueOf, NameOf], str]:
    """argmax: of equals the first."""

    def greatest(value_of: ValueOf, name_of: NameOf) -> str:
        return name_of(max(names, key=lambda name: rounded(_number(value_of(name)))))

    return greatest


def _chosen(node: Conditional) -> Callable[[ValueOf, NameOf], Result]:
    cases = tuple((_truth(condition), _result(value)) for condition, value in node.cases)
    otherwise = _result(node.otherwise)

    def chosen(value_of: ValueOf, name_of: NameOf) -> Result:
        for holds, value in cases:
            if holds(value_of, name_of):
                return value(value_of, name_of)
        return otherwise(value_of, name_of)

    return chosen


def _truth(node: FormulaNode) -> Callable[[ValueOf, NameOf], bool]:
    match node:
        case Negation(part):
            inner = _truth(part)
            return lambda value_of, name_of: not inner(value_of, name_of)
        case Conjunction(parts):
            every = tuple(map(_truth, parts))
            return lambda value_of, name_of: all(part(value_of, name_of) for part in every)
        case Disjunction(parts):
            some = tuple(map(_truth, parts))
            return lambda value_of, name_of: any(part(value_of, name_of) for part in some)
        case Comparison(sign, left, right):
            return _comparison(sign, left, right)
        case _:
            result = _result(node)
            return lambda value_of, name_of: values.is_true(result(value_of, name_of))


def _comparison(sign: str, left: FormulaNode, right: FormulaNode) -> Callable[[ValueOf, NameOf], bool]:
    if sign in _ORDERINGS:
        compare = _ORDERINGS[sign]
        less, more = _amount(left), _amount(right)
        return lambda value_of, name_of: compare(
            rounded(less(value_of, name_of)), rounded(more(value_of, name_of))
        )
    first, second = _side(left), _side(right)
    if sign == "==":
        return lambda value_of, name_of: values.equal(first(value_of, name_of), second(value_of, name_of))
    return lambda value_of, name_of: values.differ(first(value_of, name_of), second(value_of, name_of))
