"""The tree of a hide expression: `expression_grammar` builds it, `expressions` evaluates it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, Union

from communities.ground.cached import cached_property
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Operand, Value


@dataclass(frozen=True)
class Literal:
    """A number, a text, true or false, or a list of these.

    `places` are the positions of the value, or of each element of the list, in the text: start and end,
    counted from 0.
    """

    value: Value
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)

    @cached_property
    def operand(self) -> Operand:
        """The value as an operand of comparisons, the same object in every evaluation."""
        return Operand(self.value)


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a block or a variable."""

    name: str


ExpressionNode: TypeAlias = Union[
    Literal,
    Name,
    "Negation[ExpressionNode]",
    "Conjunction[ExpressionNode]",
    "Disjunction[ExpressionNode]",
    "Comparison[ExpressionNode]",
]
