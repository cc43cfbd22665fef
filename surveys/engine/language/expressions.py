"""Skip logic: parse an expression, tell the names used, evaluate (decisions 6.3 to 6.8 and 14.13)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from surveys.engine.language import expression_grammar, names, values
from surveys.engine.language.expression_grammar import (
    Comparison,
    Conjunction,
    Disjunction,
    ExpressionNode,
    Literal,
    Mention,
    Name,
    Negation,
)
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.values import Value
from surveys.engine.script import title_case

__all__ = ["Expression", "Mention", "ParseError", "Value", "ValueOf", "parse", "rename"]

MAX_LENGTH = 2000

ValueOf: TypeAlias = Callable[[str], Value]  # gets a name as it is written in the expression

COMPARISONS: Mapping[str, Callable[[Value, Value], bool]] = {
    "=": values.equal,
    "!=": values.differ,
    "<": values.less,
    "<=": values.less_or_equal,
    ">": values.greater,
    ">=": values.greater_or_equal,
    "in": values.within,
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. Two are equal where they mean the same by the same words."""

    source: str = field(compare=False)
    tree: ExpressionNode
    mentions: tuple[Mention, ...] = field(compare=False)  # every one, in the order of the text
    _truth: Callable[[ValueOf], bool] = field(compare=False, repr=False)

    def holds(self, value_of: ValueOf) -> bool:
        """Whether it is true. Never raises, whatever the values; `value_of` gives None for no value."""
        return self._truth(value_of)


@lru_cache(maxsize=1024)  # the largest take some 200 kB each
def parse(text: str) -> Expression:
    """Read an expression; remembered by its text. Raises SyntaxFault, whose `code` is `syntax_error`,
    `too_long` (beyond 2,000 characters) or `too_deep` (nested beyond 50)."""
    if len(text) > MAX_LENGTH:
        message = f"An expression has at most {MAX_LENGTH:,} characters; this one has {len(text):,}."
        raise ParseError(message, MAX_LENGTH + 1, "too_long")
    tree, mentions = expression_grammar.read(text)
    return Expression(text, tree, mentions, _truth(tree))


def rename(text: str, renames: Mapping[str, str], *, variables: Collection[str] | None = None) -> str:
    """Write new block names into an expression, leaving all else, spacing included, as it is.

    `renames` maps a title-cased old name to the new one as its owner writes it. `variables` are the
    script's (`references.variables`); without them everything that looks like one is left alone.
    Raises SyntaxFault where the text is no expression or a new name cannot be written in one.
    """
    pieces: list[str] = []
    at = 0
    for mention in parse(text).mentions:
        new = _new_name(mention, renames, variables)
        if new is not None:
            pieces += [text[at : mention.column - 1], new]
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
        message = f"A block named {new} cannot be meant in an expression by its name."
        raise ParseError(message, mention.column, "not_allowed")
    written = names.expression_form(new)
    in_parentheses_already = name.lower() in names.KEYWORDS
    return written.strip("()") if in_parentheses_already else written


def _truth(node: ExpressionNode) -> Callable[[ValueOf], bool]:
    """Compile to a closure that answers true or false. No deeper than the expression nests."""
    match node:
        case Negation(part):
            inner = _truth(part)
            return lambda value_of: not inner(value_of)
        case Conjunction(parts):
            every = tuple(map(_truth, parts))

            def all_hold(value_of: ValueOf) -> bool:
                for part in every:  # noqa: SIM110  a generator doubles the time
                    if not part(value_of):
                        return False
                return True

            return all_hold
        case Disjunction(parts):
            some = tuple(map(_truth, parts))

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
        case Literal(value):
            truth = values.is_true(value)
            return lambda value_of: truth


def _comparison(
    compare: Callable[[Value, Value], bool], left: ExpressionNode, right: ExpressionNode
) -> Callable[[ValueOf], bool]:
    if isinstance(left, Name) and isinstance(right, Literal):  # by far the most frequent
        name, value = left.name, right.value
        return lambda value_of: compare(value_of(name), value)
    first, second = _value(left), _value(right)
    return lambda value_of: compare(first(value_of), second(value_of))


def _value(node: ExpressionNode) -> Callable[[ValueOf], Value]:
    match node:
        case Name(name):
            return lambda value_of: value_of(name)
        case Literal(value):
            return lambda value_of: value
        case _:
            return _truth(node)
