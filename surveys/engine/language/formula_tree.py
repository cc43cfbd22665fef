"""The tree of a formula: what `formula_grammar` makes of its text, and `formulas` computes.

`column` counts from 1 and is there for faults alone: two trees are equal whatever theirs are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Number:
    value: Decimal


@dataclass(frozen=True, slots=True)
class Text:
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
    part: Node


@dataclass(frozen=True, slots=True)
class Sum:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product:
    first: Node
    steps: tuple[tuple[str, Node], ...]  # `*` or `/`, and by what


@dataclass(frozen=True, slots=True)
class Choice:
    """if, as many else if as there are, and else."""

    cases: tuple[tuple[Node, Node], ...]  # condition, value
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Pair:
    sign: str  # `==` and not `=`
    left: Node
    right: Node
    column: int = field(compare=False)  # of the sign


@dataclass(frozen=True, slots=True)
class Not:
    part: Node
    column: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Every:
    """Parts joined by AND."""

    parts: tuple[Node, ...]
    column: int = field(compare=False)  # of the first AND


@dataclass(frozen=True, slots=True)
class Some:
    """Parts joined by OR."""

    parts: tuple[Node, ...]
    column: int = field(compare=False)  # of the first OR


Truth: TypeAlias = Pair | Not | Every | Some
Node: TypeAlias = Number | Text | Variable | Argmax | Negative | Sum | Product | Choice | Truth
