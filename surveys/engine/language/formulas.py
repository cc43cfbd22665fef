"""The formulas of calculated blocks: parse, list the names, evaluate (rules 4.22 to 4.24).

Evaluation never fails; a value that cannot be computed is 0:

- An unknown or unanswered value is 0. So is a value that is not a number in arithmetic, in an ordering (`<`,
  `<=`, `>`, `>=`) or in argmax. A list of one counts as its element.
- Division by zero is 0, and so is a result of 10^100 or more.
- `==` and `!=` compare as skip logic does: numbers if both sides read as numbers, else text,
  case-sensitively. An unanswered value is 0 here too.
- A condition without a comparison is true if it is not 0; a variable alone also if it is text.
- The result of a variable alone is its value, even if that is text; a list is its parts joined by commas.

Numbers are decimals: read with 100 digits, computed with 50, returned with 40 and compared with 28. Smaller
differences are treated as rounding errors, so `[a] / 3 * 3 - [a]` is 0, and a third that one block computes
and another multiplies by three is 1. `values.number_text` prints a result with at most 6 decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from threading import Lock
from typing import TypeAlias

from cachetools import LRUCache, cached

from communities.ground.cached import cached_property
from surveys.engine.language import formula_grammar, values
from surveys.engine.language.formula_tree import (
    Argmax,
    Conditional,
    FormulaNode,
    Negative,
    NumberLiteral,
    Product,
    Sum,
    TextLiteral,
    Variable,
)
from surveys.engine.language.lexer import MAX_LENGTH, MAX_PARSED, Mention, ParseError, parsed_size
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Value

ValueOf: TypeAlias = Callable[[str], Value | values.Operand]  # takes a name as the brackets contain it
NameOf: TypeAlias = Callable[[str], str]
Result: TypeAlias = Decimal | str

DIGITS = 28
_RESULT_DIGITS = 40
MAX_EXPONENT = 100  # digits before the point, or zeros after it; other numbers count as 0
_COMPUTE = Context(prec=50, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999, traps=[])
_RETURN = Context(prec=_RESULT_DIGITS, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999, traps=[])
_READ = Context(prec=100, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999, traps=[])
_ROUND = Context(prec=DIGITS, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999, traps=[])
_ZERO = Decimal(0)

_ORDERINGS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "<": Decimal.__lt__,
    "<=": Decimal.__le__,
    ">": Decimal.__gt__,
    ">=": Decimal.__ge__,
}
_DATE_ORDERINGS: Mapping[str, Callable[[values.Operand, values.Operand], bool]] = {
    "<": values.less,
    "<=": values.less_or_equal,
    ">": values.greater,
    ">=": values.greater_or_equal,
}


@dataclass(frozen=True, slots=True)
class Formula:
    """A parsed formula. Two formulas are equal if their trees are equal."""

    source: str = field(compare=False)
    tree: FormulaNode
    mentions: tuple[Mention, ...] = field(compare=False)  # names in brackets, in the order of the text
    _result: Callable[[ValueOf, NameOf], _Outcome] = field(compare=False, repr=False)

    def evaluate(self, value_of: ValueOf, name_of: NameOf) -> Result:
        """The result, a number or text. Never raises.

        `value_of` returns None for an unknown or unanswered name; `name_of` the label that argmax returns
        for a variable.
        """
        outcome = self._result(value_of, name_of)
        return outcome if isinstance(outcome, Decimal) else values.text(outcome.value)


@cached(LRUCache(MAX_PARSED, getsizeof=parsed_size), key=str, lock=Lock())
def parse(text: str) -> Formula:
    """Parse a formula; the result is cached.

    Raises ParseError with the code `syntax_error`, `too_long` (more than 2,000 characters) or `too_deep`
    (nested more than 50 levels).
    """
    if len(text) > MAX_LENGTH:
        message = f"A formula has at most {MAX_LENGTH:,} characters; this one has {len(text):,}."
        raise ParseError(message, MAX_LENGTH + 1, "too_long")
    tree, mentions = formula_grammar.read(text)
    return Formula(text, tree, mentions, _result(tree))


# --- Values as numbers ------------------------------------------------------------------------------


def rounded(number: Decimal, context: Context = _ROUND) -> Decimal:
    """The number rounded for comparison, or by the rules of `context`. Minus 0 is 0."""
    number = context.plus(number)
    if not number or not number.is_finite() or not -MAX_EXPONENT <= number.adjusted() < MAX_EXPONENT:
        return _ZERO
    whole = number.to_integral_value()
    return whole if whole == number else context.normalize(number)


class Operand(values.Operand):
    """A value as formulas use it. The forms that formulas need are computed on first use, and cached."""

    @cached_property
    def amount(self) -> Decimal:
        """The value as an operand of arithmetic, not rounded."""
        number = self.elements[0].number if len(self.elements) == 1 else None
        return _ZERO if number is None else _READ.plus(number)

    @cached_property
    def compared(self) -> values.Operand:
        """The value as an operand of `==`."""
        if self.number is not None:
            return values.Operand(rounded(self.number))
        is_zero = self.value is None or self.value == () or isinstance(self.value, Decimal)
        return values.Operand(_ZERO) if is_zero else self

    @cached_property
    def alone(self) -> _Outcome:
        """The result of a formula that is only this variable."""
        if self.is_list and len(self.elements) == 1:
            return Operand(self.elements[0].value).alone
        compared = self.compared.value
        if isinstance(compared, Decimal):
            return compared
        return self if isinstance(compared, str) else Operand(values.text(compared))


_Outcome: TypeAlias = Decimal | Operand  # of a part of a formula; the value of an operand is text


def _operand(value: Value | values.Operand) -> Operand:
    if isinstance(value, Operand):
        return value
    return Operand(value.value if isinstance(value, values.Operand) else value)


# --- Arithmetic -----------------------------------------------------------------------------------


def _plus(left: Decimal, right: Decimal) -> Decimal:
    total = _COMPUTE.add(left, right)
    if left and right and total.is_finite():
        greater = max(left.adjusted(), right.adjusted())
        if total.adjusted() < greater - DIGITS:
            return _ZERO  # the rest is a rounding error
    return total


def _divided(left: Decimal, right: Decimal) -> Decimal:
    return _COMPUTE.divide(left, right) if right else _ZERO


_STEPS: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {"*": _COMPUTE.multiply, "/": _divided}


# --- Tree → closures; the recursion is as deep as the nesting of the formula ------------------------


def _result(node: FormulaNode) -> Callable[[ValueOf, NameOf], _Outcome]:
    """The result of a formula, or of a branch of an if."""
    match node:
        case Variable(name):
            return lambda value_of, name_of: _operand(value_of(name)).alone
        case TextLiteral(text):
            literal = Operand(text)
            return lambda value_of, name_of: literal
        case Argmax(names):
            greatest = _argmax(names)
            return lambda value_of, name_of: Operand(greatest(value_of, name_of))
        case Conditional():
            return _conditional(node)
        case _:
            amount = _amount(node)
            return lambda value_of, name_of: rounded(amount(value_of, name_of), _RETURN)


def _side(node: FormulaNode) -> Callable[[ValueOf, NameOf], values.Operand]:
    """One operand of `==`."""
    match node:
        case Variable(name):
            return lambda value_of, name_of: _operand(value_of(name)).compared
        case TextLiteral(literal) | NumberLiteral(literal):
            compared = Operand(literal).compared
            return lambda value_of, name_of: compared
    result = _result(node)

    def side(value_of: ValueOf, name_of: NameOf) -> values.Operand:
        outcome = result(value_of, name_of)
        return outcome.compared if isinstance(outcome, Operand) else values.Operand(rounded(outcome))

    return side


def _amount(node: FormulaNode) -> Callable[[ValueOf, NameOf], Decimal]:
    """The amount of an operand of arithmetic, not rounded."""
    match node:
        case NumberLiteral(value):
            return lambda value_of, name_of: value
        case Variable(name):
            return lambda value_of, name_of: _operand(value_of(name)).amount
        case Negative(part):
            amount = _amount(part)
            return lambda value_of, name_of: amount(value_of, name_of).copy_negate()
        case Sum(parts):
            return _sum(tuple(map(_amount, parts)))
        case Product(first, steps):
            return _product(_amount(first), tuple((_STEPS[sign], _amount(part)) for sign, part in steps))
    result = _result(node)

    def amount_of_result(value_of: ValueOf, name_of: NameOf) -> Decimal:
        outcome = result(value_of, name_of)
        return outcome.amount if isinstance(outcome, Operand) else outcome

    return amount_of_result


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


def _argmax(names: tuple[str, ...]) -> Callable[[ValueOf, NameOf], str]:
    """argmax: the first of several equal variables wins."""

    def greatest(value_of: ValueOf, name_of: NameOf) -> str:
        return name_of(max(names, key=lambda name: rounded(_operand(value_of(name)).amount)))

    return greatest


def _conditional(node: Conditional) -> Callable[[ValueOf, NameOf], _Outcome]:
    cases = tuple((_condition(condition), _result(value)) for condition, value in node.cases)
    otherwise = _result(node.otherwise)

    def chosen(value_of: ValueOf, name_of: NameOf) -> _Outcome:
        for holds, value in cases:
            if holds(value_of, name_of):
                return value(value_of, name_of)
        return otherwise(value_of, name_of)

    return chosen


def _condition(node: FormulaNode) -> Callable[[ValueOf, NameOf], bool]:
    match node:
        case Negation(part):
            inner = _condition(part)
            return lambda value_of, name_of: not inner(value_of, name_of)
        case Conjunction(parts):
            every = tuple(map(_condition, parts))
            return lambda value_of, name_of: all(part(value_of, name_of) for part in every)
        case Disjunction(parts):
            some = tuple(map(_condition, parts))
            return lambda value_of, name_of: any(part(value_of, name_of) for part in some)
        case Comparison(sign, left, right):
            return _comparison(sign, left, right)
        case _:
            result = _result(node)
            return lambda value_of, name_of: values.is_true(result(value_of, name_of))


def _is_no_date(node: FormulaNode) -> bool:
    return not isinstance(node, Variable | TextLiteral)


def _dates_or(
    ordered: Callable[[ValueOf, NameOf], bool], sign: str, left: FormulaNode, right: FormulaNode
) -> Callable[[ValueOf, NameOf], bool]:
    """The ordering of two dates, as in skip logic; of other values that of their amounts."""
    compare = _DATE_ORDERINGS[sign]
    first, second = _side(left), _side(right)

    def holds(value_of: ValueOf, name_of: NameOf) -> bool:
        sides = first(value_of, name_of), second(value_of, name_of)
        return compare(*sides) if all(side.date for side in sides) else ordered(value_of, name_of)

    return holds


def _comparison(sign: str, left: FormulaNode, right: FormulaNode) -> Callable[[ValueOf, NameOf], bool]:
    if sign in _ORDERINGS:
        compare = _ORDERINGS[sign]
        less, more = _amount(left), _amount(right)

        def ordered(value_of: ValueOf, name_of: NameOf) -> bool:
            return compare(rounded(less(value_of, name_of)), rounded(more(value_of, name_of)))

        return ordered if any(map(_is_no_date, (left, right))) else _dates_or(ordered, sign, left, right)
    first, second = _side(left), _side(right)
    if sign == "==":
        return lambda value_of, name_of: values.equal(first(value_of, name_of), second(value_of, name_of))
    return lambda value_of, name_of: values.differ(first(value_of, name_of), second(value_of, name_of))
