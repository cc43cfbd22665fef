"""The nodes that the trees of skip logic and of formulas share: comparisons, AND, OR and NOT.

`column` is where the operator begins, counted from 1. It serves error messages only: trees are compared
without it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

Node = TypeVar("Node")  # any node of the language


@dataclass(frozen=True, slots=True)
class Comparison(Generic[Node]):
    """Two values compared; `sign` is the operator in the spelling that its language uses."""

    sign: str
    left: Node
    right: Node
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Negation(Generic[Node]):
    """NOT before its part."""

    part: Node
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Conjunction(Generic[Node]):
    """Parts joined by AND; `column` is that of the first AND."""

    parts: tuple[Node, ...]
    column: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Disjunction(Generic[Node]):
    """Parts joined by OR; `column` is that of the first OR."""

    parts: tuple[Node, ...]
    column: int = field(default=0, compare=False)


LOGIC_NODES = (Comparison, Negation, Conjunction, Disjunction)
