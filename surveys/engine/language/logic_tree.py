"""The parts that skip logic and formulas share: comparisons, AND, OR and NOT, as nodes and as a part of the
grammar.

`column` is the start of the operator, counted from 1. It serves error messages only: trees are compared
without it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from surveys.engine.language.lexer import MAX_NESTING, Mention, ParseError, Token

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


class LogicParser(Generic[Node]):
    """A recursive descent parser, never deeper than MAX_NESTING: it reads tokens and joins conditions.

    A language defines `token`, the next token, and the grammar of a `comparison`.
    """

    nesting: str  # the word for nested parts in the error

    def __init__(self) -> None:
        self.mentions: list[Mention] = []
        self.last = Token("", "", 0)
        self.depth = 0

    # Reading tokens.

    @property
    @abstractmethod
    def token(self) -> Token: ...

    @abstractmethod
    def advance(self) -> Token:
        """Move past the next token, and return it."""

    def next_is(self, *words: str) -> bool:
        """Whether one of these keywords (any case) or symbols is next."""
        token = self.token
        return token.kind in ("name", "symbol") and token.text.lower() in words

    def accept(self, word: str) -> bool:
        """Advance past a keyword or symbol if it is next; returns whether it was."""
        is_next = self.next_is(word)
        if is_next:
            self.advance()
        return is_next

    def enter(self, token: Token) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise ParseError(f"{self.nesting} nest at most {MAX_NESTING} deep.", token.column, "too_deep")

    def mention(self) -> str:
        """Record that the next token is a name, and return the name."""
        token = self.advance()
        self.mentions.append(Mention(token.text, token.column))
        return token.text

    # The grammar, lowest precedence first.

    def disjunction(self) -> Node:
        parts, column = [self.conjunction()], self.token.column
        while self.accept("or"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else self.joined(Disjunction, parts, column)

    def conjunction(self) -> Node:
        parts, column = [self.negation()], self.token.column
        while self.accept("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else self.joined(Conjunction, parts, column)

    def joined(
        self, kind: type[Conjunction[Node] | Disjunction[Node]], parts: list[Node], column: int
    ) -> Node:
        return kind(tuple(map(self.condition, parts)), column)  # type: ignore[return-value]

    def negation(self) -> Node:
        token = self.token
        if not self.accept("not"):
            return self.comparison()
        self.enter(token)
        part = self.condition(self.negation())
        self.depth -= 1
        return Negation(part, token.column)  # type: ignore[return-value]

    def condition(self, node: Node) -> Node:
        """A part of AND, OR and NOT. A language may refuse some."""
        return node

    @abstractmethod
    def comparison(self) -> Node: ...
