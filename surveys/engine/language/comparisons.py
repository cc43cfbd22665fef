"""The comparisons of an expression or a formula, and the values that they compare to names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from surveys.engine.language.expression_tree import ExpressionNode, Literal, Name
from surveys.engine.language.formula_tree import (
    Conditional,
    FormulaNode,
    Negative,
    NumberLiteral,
    Product,
    Sum,
    TextLiteral,
    Variable,
)
from surveys.engine.language.lexer import MAX_LENGTH, quoted
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Value

AnyNode: TypeAlias = ExpressionNode | FormulaNode
Place: TypeAlias = tuple[int, int]  # start and end in the text, counted from 0
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MUCH_TOO_LONG = 10 * MAX_LENGTH


def of_tree(node: AnyNode) -> Iterator[Comparison[Any]]:
    """Every comparison in a tree, in the order of the text.

    The recursion is as deep as the nesting of the text.
    """
    match node:
        case Comparison(_, left, right):
            yield node
            yield from of_tree(left)
            yield from of_tree(right)
        case Negation(part) | Negative(part):
            yield from of_tree(part)
        case Conjunction(parts) | Disjunction(parts) | Sum(parts):
            for part in parts:
                yield from of_tree(part)
        case Product(first, steps):
            yield from of_tree(first)
            for _, part in steps:
                yield from of_tree(part)
        case Conditional(cases, otherwise):
            for condition, value in cases:
                yield from of_tree(condition)
                yield from of_tree(value)
            yield from of_tree(otherwise)


def with_values(text: str, tree: AnyNode, new_value: Callable[[str, Value], str | None]) -> str:
    """The text with other values in its comparisons, otherwise unchanged.

    `new_value` takes a name, as the text writes it, and the value that it is compared to. It returns the new
    text of the value; None leaves it unchanged. A text that becomes much longer than a valid one keeps the
    values at its end, because many long values in many texts would fill the memory.
    """
    pieces: list[str] = []
    at = length = 0
    for name, value, (start, end) in sorted(_compared(tree, text), key=lambda each: each[2]):
        new = new_value(name, value)
        if new is not None:
            pieces += [text[at:start], new]
            length += start - at + len(new)
            at = end
        if length > _MUCH_TOO_LONG:
            break
    return "".join([*pieces, text[at:]])


def _compared(tree: AnyNode, text: str) -> Iterator[tuple[str, Value, Place]]:
    for node in of_tree(tree):
        for subject, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(subject, Name | Variable):
                for value, place in _literals(other, text):
                    yield subject.name, value, place


def _literals(node: AnyNode, text: str) -> Iterator[tuple[Value, Place]]:
    match node:
        case Literal(value, places):
            yield from zip(value if isinstance(value, tuple) else (value,), places, strict=True)
        case TextLiteral(value, column):
            yield value, (column - 1, column - 1 + len(quoted(value)))
        case NumberLiteral(value, column):
            yield value, (column - 1, _end_of_number(text, column))
        case Negative(NumberLiteral(value, column)):
            yield -value, (text.rindex("-", 0, column - 1), _end_of_number(text, column))


def _end_of_number(text: str, column: int) -> int:
    match = _NUMBER.match(text, column - 1)
    return column - 1 if match is None else match.end()
