"""The tree of a formula: `formula_grammar` builds it, `formulas` evaluates it."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias, Union

from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A number; `column` is where it begins, counted from 1."""

    value: Decimal
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TextLiteral:
    """Text, with or without quotes; `column` is where it begins, counted from 1."""

    text: str
    column: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in brackets."""

    name: str


@dataclass(frozen=True, slots=True)
class Argmax:
    """The variable with the greatest value."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Negative:
    """A minus before its part."""

    part: FormulaNode


@dataclass(frozen=True, slots=True)
class Sum:
    """Parts added up; a difference has a Negative as its part."""

    parts: tuple[FormulaNode, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """The first factor, then steps of `*` or `/` with their operands."""

    first: FormulaNode
    steps: tuple[tuple[str, FormulaNode], ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    """`if`, any number of `else if`, and `else`."""

    cases: tuple[tuple[FormulaNode, FormulaNode], ...]  # condition, value
    otherwise: FormulaNode


FormulaNode: TypeAlias = Union[
    NumberLiteral,
    TextLiteral,
    Variable,
    Argmax,
    Negative,
    Sum,
    Product,
    Conditional,
    "Comparison[FormulaNode]",
    "Negation[FormulaNode]",
    "Conjunction[FormulaNode]",
    "Disjunction[FormulaNode]",
]
