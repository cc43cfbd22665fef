"""Converts the text of a precondition to the condition with the same meaning in rows: the inverse of
`conditions`.

    read('NOT((game = "chess"))')    show_when: {"block": "game", "op": "eq", "value": "chess"}
    read("score < 3 OR game = 1")    hide_when: {"any": [...]}

A row compares one name with one value. NOT is removed where possible: it changes `=` to `!=`, and `all` to
`any`. It cannot change `<` to `>=`, because both are false if there is no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from surveys.engine.language import conditions, expressions, names
from surveys.engine.language.conditions import ConditionError
from surveys.engine.language.expression_tree import ExpressionNode, Literal, Name
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Value

_OPERATORS = {sign: op for op, sign in conditions.OPERATORS.items()}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_OPPOSITE = {"=": "!=", "!=": "="}
_MAX_NAME = 64
_MAX_INTEGER = 2**53 - 1  # JSON numbers beyond it lose digits in browsers


class NotRowsError(ValueError):
    """The expression is valid, but rows cannot express it.

    `column` counts from 1; None if no single column is at fault.
    """

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@dataclass(frozen=True, slots=True)
class Rows:
    """A condition of the interface, and its field: `show_when` or `hide_when`."""

    field: str
    condition: dict[str, object]

    @property
    def text(self) -> str:
        """The hide expression that is compiled from the condition."""
        return conditions.compile(self.condition, hide=self.field == "hide_when")


def _no_list(name: str) -> bool:
    return False


def read(text: str, *, holds_list: Callable[[str], bool] = _no_list) -> Rows:
    """The rows with the same meaning as a hide expression; NOT around the whole expression makes it
    `show_when`.

    `holds_list` takes a name as the expression writes it, and returns whether its answers are lists (several
    choices, rankings). Only then does `"x" in name` mean membership. Raises ParseError if the text is no
    expression, and NotRowsError if no rows can express it.
    """
    expression = expressions.parse(text)
    reader = _Reader(expression, holds_list)
    tree = expression.tree
    forms = [partial(reader.hiding, tree), partial(reader.showing, tree)]
    return _first_of(*reversed(forms) if isinstance(tree, Negation) else forms)


def _first_of(first: Callable[[], Rows], second: Callable[[], Rows]) -> Rows:
    """The first form if it can be written, else the second.

    If neither works, the error is that of the first.
    """
    try:
        return first()
    except NotRowsError as reason:
        try:
            return second()
        except NotRowsError:
            raise reason from None


class _Reader:
    def __init__(self, expression: expressions.Expression, holds_list: Callable[[str], bool]) -> None:
        self.columns = {mention.name: mention.column for mention in reversed(expression.mentions)}
        self.holds_list = holds_list

    def hiding(self, tree: ExpressionNode) -> Rows:
        return _compilable(Rows("hide_when", self.condition(tree, affirmed=True)))

    def showing(self, tree: ExpressionNode) -> Rows:
        return _compilable(Rows("show_when", self.condition(tree, affirmed=False)))

    def condition(self, node: ExpressionNode, *, affirmed: bool) -> dict[str, object]:
        """The condition that is true when the node is true; if not `affirmed`, when the node is false."""
        match node:
            case Negation(part):
                return self.condition(part, affirmed=not affirmed)
            case Conjunction(parts) | Disjunction(parts):
                key = "all" if isinstance(node, Conjunction) is affirmed else "any"
                return {key: [self.condition(part, affirmed=affirmed) for part in parts]}
            case Comparison():
                return self.leaf(node, affirmed=affirmed)
            case Name(name):
                message = f"{name} stands alone. A row compares it with a value, as in {name} = 1."
                raise NotRowsError(message, self.columns.get(name))
            case _:
                raise NotRowsError("A value stands alone. A row compares a block or a variable with a value.")

    def leaf(self, node: Comparison[ExpressionNode], *, affirmed: bool) -> dict[str, object]:
        name, sign, value = self.sides(node)
        if not affirmed:
            if sign not in _OPPOSITE:
                message = (
                    f"A row cannot say NOT before {node.sign}: without an answer, both it and its opposite "
                    "are false."
                )
                raise NotRowsError(message, node.column)
            sign = _OPPOSITE[sign]
        if sign == "in" and not isinstance(value, tuple):
            message = f'A row cannot look for a part of a text: write {name} in ["...", "..."] or =.'
            raise NotRowsError(message, node.column)
        return {**_subject(name), "op": _OPERATORS[sign], "value": _json(value, node.column)}

    def sides(self, node: Comparison[ExpressionNode]) -> tuple[str, str, Value]:
        """The comparison with its name on the left."""
        match node.left, node.right:
            case Name(name), Literal(value):
                return name, node.sign, value
            case Literal(value), Name(name) if node.sign in _MIRRORED:
                return name, _MIRRORED[node.sign], value
            case Literal(value), Name(name) if self.holds_list(name):
                # Membership in a list is the same as having an element in common with it.
                return name, "in", value if isinstance(value, tuple) else (value,)
            case Literal(), Name(name):
                raise NotRowsError("A row cannot look for a part of a text.", node.column)
            case Name(), Name():
                message = "A row compares with a value, not with another block or variable."
                raise NotRowsError(message, node.column)
            case Literal(), Literal():
                raise NotRowsError("A row needs a block or a variable to compare.", node.column)
        message = "A row compares a block or a variable with a value, not with another comparison."
        raise NotRowsError(message, node.column)


def _compilable(rows: Rows) -> Rows:
    """The rows; refuses rows that would be too long for the text of a precondition."""
    try:
        rows.text  # noqa: B018
    except ConditionError as error:
        raise NotRowsError(error.problems[0][2]) from None
    return rows


def _subject(name: str) -> dict[str, object]:
    """The name in the form of a leaf: fields, positions and variables as `variable`, all others as
    `block`.
    """
    if names.field_key(name) is not None or names.reading_parts(name) is not None:
        return {"variable": name}
    is_block = name.lower() in names.KEYWORDS or names.expression_form(name) == name
    return {"block": name} if is_block and len(name) <= _MAX_NAME else {"variable": name}


def _json(value: Value, column: int) -> object:
    """A literal as JSON, if JSON can represent it without loss."""
    if isinstance(value, tuple):
        return [_json(element, column) for element in value]
    if not isinstance(value, Decimal):
        return value
    if value == value.to_integral_value() and abs(value) <= _MAX_INTEGER:
        return int(value)
    if Decimal(repr(float(value))) == value:
        return float(value)
    raise NotRowsError(f"A row cannot hold the number {value:f} exactly.", column)
