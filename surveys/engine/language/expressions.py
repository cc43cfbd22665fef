"""Skip logic: parse an expression, list its names, evaluate it (rules 4.2 to 4.4 and 4.9 to 4.11)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeAlias

from cachetools import LRUCache, cached

from surveys.engine.language import expression_grammar, names, values
from surveys.engine.language.expression_tree import ExpressionNode, Literal, Name
from surveys.engine.language.lexer import MAX_LENGTH, MAX_PARSED, Mention, ParseError, parsed_size
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Operand, Value
from surveys.engine.script import title_case

# Takes a name as the expression writes it. An operand is prepared once for many expressions.
ValueOf: TypeAlias = Callable[[str], Value | Operand]

COMPARISONS: Mapping[str, Callable[[Value | Operand, Value | Operand], bool]] = {
    "=": values.equal,
    "!=": values.differ,
    "<": values.less,
    "<=": values.less_or_equal,
    ">": values.greater,
    ">=": values.greater_or_equal,
    "in": values.is_in,
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. Two expressions are equal if their trees are equal."""

    source: str = field(compare=False)
    tree: ExpressionNode
    mentions: tuple[Mention, ...] = field(compare=False)  # all names, in the order of the text
    _condition: Callable[[ValueOf], bool] = field(compare=False, repr=False)

    def holds(self, value_of: ValueOf) -> bool:
        """Whether the expression is true. Never raises; `value_of` returns None for a missing value."""
        return self._condition(value_of)


@cached(LRUCache(MAX_PARSED, getsizeof=parsed_size), key=str, lock=Lock())
def parse(text: str) -> Expression:
    """Parse an expression; the result is cached.

    Raises ParseError with the code `syntax_error`, `too_long` (more than 2,000 characters) or `too_deep`
    (nested more than 50 levels).
    """
    if len(text) > MAX_LENGTH:
        message = f"An expression has at most {MAX_LENGTH:,} characters; this one has {len(text):,}."
        raise ParseError(message, MAX_LENGTH + 1, "too_long")
    tree, mentions = expression_grammar.read(text)
    return Expression(text, tree, mentions, _condition(tree))


def rename(text: str, renames: Mapping[str, str], *, variables: Collection[str] | None = None) -> str:
    """Replace block names in an expression; everything else, such as spaces, stays unchanged.

    `renames` maps the title-cased old name to the new name as its author writes it. `variables` are the
    script's (`references.variables`); if they are None, every name that looks like a variable stays
    unchanged. Raises ParseError if the text is no expression, or if an expression cannot contain a new name.
    """
    pieces: list[str] = []
    at = 0
    for mention in parse(text).mentions:
        new = _new_name(mention, renames, variables)
        if new is not None:
            pieces += [text[at : mention.column - 1], new]
            at = mention.column - 1 + len(mention.name)
    return "".join([*pieces, text[at:]])


def replace_positions(text: str, form_of: Callable[[str], str]) -> str:
    """Replace each position in an expression. Raises ParseError if the text is no expression."""
    pieces: list[str] = []
    at = 0
    for mention in parse(text).mentions:
        if names.is_position(mention.name):
            pieces += [text[at : mention.column - 1], form_of(mention.name)]
            at = mention.column - 1 + len(mention.name)
    return "".join([*pieces, text[at:]])


def _new_name(mention: Mention, renames: Mapping[str, str], variables: Collection[str] | None) -> str | None:
    name = mention.name
    if names.is_position(name):
        return None
    if names.looks_like_variable(name) if variables is None else name in variables:
        return None
    new = renames.get(title_case(name))
    if new is None:
        return None
    if names.is_reserved(new):
        message = f"An expression cannot refer to a block named {new}."
        raise ParseError(message, mention.column, "not_allowed")
    form = names.expression_form(new)
    has_parentheses = name.lower() in names.KEYWORDS
    return form.strip("()") if has_parentheses else form


def _condition(node: ExpressionNode) -> Callable[[ValueOf], bool]:
    """Compile a node to a closure that returns true or false. The recursion is as deep as the expression."""
    match node:
        case Negation(part):
            inner = _condition(part)
            return lambda value_of: not inner(value_of)
        case Conjunction(parts):
            every = tuple(map(_condition, parts))

            def all_hold(value_of: ValueOf) -> bool:
                for part in every:  # noqa: SIM110  a generator doubles the time
                    if not part(value_of):
                        return False
                return True

            return all_hold
        case Disjunction(parts):
            some = tuple(map(_condition, parts))

            def any_holds(value_of: ValueOf) -> bool:
                for part in some:  # noqa: SIM110  a generator doubles the time
                    if part(value_of):
                        return True
                return False

            return any_holds
        case Comparison(sign, left, right):
            return _comparison(COMPARISONS[sign], left, right)
        case Name(name):
            return lambda value_of: values.is_true(value_of(name))
        case Literal():
            truth = node.operand.is_true
            return lambda value_of: truth


def _comparison(
    compare: Callable[[Value | Operand, Value | Operand], bool], left: ExpressionNode, right: ExpressionNode
) -> Callable[[ValueOf], bool]:
    if isinstance(left, Name) and isinstance(right, Literal):  # by far the most frequent case
        name, literal = left.name, right.operand
        return lambda value_of: compare(value_of(name), literal)
    first, second = _value(left), _value(right)
    return lambda value_of: compare(first(value_of), second(value_of))


def _value(node: ExpressionNode) -> Callable[[ValueOf], Value | Operand]:
    match node:
        case Name(name):
            return lambda value_of: value_of(name)
        case Literal():
            literal = node.operand
            return lambda value_of: literal
        case _:
            return _condition(node)
