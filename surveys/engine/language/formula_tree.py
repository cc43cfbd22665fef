"""The tree of a formula: what `formula_grammar` makes of its text, and `formulas` computes.

`column` counts from 1 and is there for faults alone: two trees are equal whatever theirs are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class NumberLiteral:
    value: Decimal


@dataclass(frozen=True, slots=True)
class TextLiteral:
    text: str
    column: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Argmax:
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Negative:
    part: FormulaNode


@dataclass(frozen=True, slots=True)
class Sum:
    parts: tuple[FormulaNode, ...]


@dataclass(frozen=True, slots=True)
class Product:
    first: FormulaNode
    steps: tuple[tuple[str, FormulaNode], ...]  # `*` or `/`, and by what


@dataclass(frozen=True, slots=True)
class Conditional:
    """if, as many else if as there are, and else."""

    cases: tuple[tuple[FormulaNode, FormulaNode], ...]  # condition, value
    otherwise: FormulaNode


@dataclass(frozen=True, slots=True)
class Comparison:
    sign: str  # `==` and not `=`
    left: FormulaNode
    right: FormulaNode
    column: int = field(compare=False)  # of the sign


@dataclass(frozen=True, slots=True)
class Negation:
    part: FormulaNode
    column: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Parts joined by AND."""

    parts: tuple[FormulaNode, ...]
    column: int = field(compare=False)  # of the first AND


@dataclass(frozen=True, slots=True)
class Disjunction:
    """Parts joined by OR."""

    parts: tuple[FormulaNode, ...]
    column: int = field(compare=False)  # of the first OR


LogicNode: TypeAlias = Comparison | Negation | Conjunction | Disjunction
FormulaNode: TypeAlias = (
    NumberLiteral | TextLiteral | Variable | Argmax | Negative | Sum | Product | Conditional | LogicNode
)
