"""The text of an expression → its tree (decisions 6.3), or a sentence on what to write instead.

    or          = and { OR and }
    and         = not { AND not }
    not         = NOT not | comparison
    comparison  = operand [ ("=" | "==" | "!=" | "<" | ">" | "<=" | ">=" | in) operand ]
    operand     = name | literal | list | "(" or ")" | "(" keyword ")"
    list        = "[" [ literal { "," literal } ] "]"
    literal     = ["-"] number | string | true | false

Keywords are in any case. A keyword alone in parentheses is a name, so a block named `And` has a form.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from surveys.engine.language import names
from surveys.engine.language.lexer import ParseError, Token, lex
from surveys.engine.language.values import Value

MAX_NESTING = 50

_SIGNS = {"=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@dataclass(frozen=True, slots=True)
class Literal:
    value: Value


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Negation:
    part: ExpressionNode


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Parts joined by AND."""

    parts: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class Disjunction:
    """Parts joined by OR."""

    parts: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    sign: str  # a key of COMPARE
    left: ExpressionNode
    right: ExpressionNode


ExpressionNode: TypeAlias = Literal | Name | Negation | Conjunction | Disjunction | Comparison


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it is written in a text; `column` counts from 1."""

    name: str
    column: int


def read(text: str) -> tuple[ExpressionNode, tuple[Mention, ...]]:
    """The tree, and every name in the order of the text. Raises SyntaxFault."""
    parser = _ExpressionParser(lex(text))
    tree = parser.whole()
    return tree, tuple(parser.mentions)


class _ExpressionParser:
    """One pass over the tokens, by recursive descent; never deeper than MAX_NESTING."""

    def __init__(self, tokens: list[Token]) -> None:
        self.mentions: list[Mention] = []
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    # Looking and taking.

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def sees(self, word: str) -> bool:
        """Whether a keyword (any case) or a symbol is next."""
        token = self.token
        return token.kind in ("name", "symbol") and token.text.lower() == word

    def takes(self, word: str) -> bool:
        found = self.sees(word)
        self.at += found
        return found

    def sign(self) -> str | None:
        """The comparison that is next, in its one spelling."""
        if self.sees("in"):
            return "in"
        return _SIGNS.get(self.token.text) if self.token.kind == "symbol" else None

    def enter(self, token: Token) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            message = f"Parentheses and NOT nest at most {MAX_NESTING} deep."
            raise ParseError(message, token.column, "too_deep")

    # The grammar, lowest precedence first.

    def whole(self) -> ExpressionNode:
        if self.token.kind == "end":
            raise ParseError('An expression cannot be empty. Write a condition, such as q1 = "Yes".', 1)
        tree = self.disjunction()
        if self.token.kind != "end":
            raise self.unexpected_after_condition()
        return tree

    def disjunction(self) -> ExpressionNode:
        parts = [self.conjunction()]
        while self.takes("or"):
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else Disjunction(tuple(parts))

    def conjunction(self) -> ExpressionNode:
        parts = [self.negation()]
        while self.takes("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else Conjunction(tuple(parts))

    def negation(self) -> ExpressionNode:
        token = self.token
        if not self.takes("not"):
            return self.comparison()
        self.enter(token)
        part = self.negation()
        self.depth -= 1
        return Negation(part)

    def comparison(self) -> ExpressionNode:
        left = self.operand()
        sign = self.sign()
        if sign is None:
            return left
        self.at += 1
        pair = Comparison(sign, left, self.operand())
        if self.sign() is not None:
            message = "Comparisons cannot be chained. Write a < b AND b < c instead of a < b < c."
            raise ParseError(message, self.token.column)
        return pair

    def operand(self) -> ExpressionNode:
        if self.sees("("):
            return self.parenthesised()
        if self.takes("["):
            return Literal(self.elements())
        found, value = self.literal()
        if found:
            return Literal(value)
        token = self.token
        if token.kind != "name" or token.text.lower() in names.KEYWORDS:
            raise self.missing_operand()
        return self.mention(token)

    def parenthesised(self) -> ExpressionNode:
        opening = self.token
        word = self.tokens[self.at + 1]
        if word.text.lower() in names.KEYWORDS and self.tokens[self.at + 2].text == ")":
            self.at += 1
            name = self.mention(word)
            self.at += 1
            return name
        self.at += 1
        self.enter(opening)
        inside = self.disjunction()
        self.depth -= 1
        if not self.takes(")"):
            if self.token.kind == "end":
                raise ParseError("This parenthesis is not closed: a ) is missing.", opening.column)
            raise self.unexpected_after_condition()
        return inside

    def elements(self) -> tuple[Value, ...]:
        opening = self.tokens[self.at - 1]
        elements: list[Value] = []
        if self.takes("]"):
            return ()
        while True:
            found, value = self.literal()
            if not found:
                raise self.bad_element(opening)
            elements.append(value)
            if self.takes("]"):
                return tuple(elements)
            if not self.takes(","):
                raise self.bad_separator(opening)

    def literal(self) -> tuple[bool, Value]:
        """Take a literal where one is next: whether there was one, and its value."""
        token = self.token
        minus = self.sees("-") and self.tokens[self.at + 1].kind == "number"
        self.at += 1 + minus
        if minus:
            return True, Decimal("-" + self.tokens[self.at - 1].text)
        if token.kind == "number":
            return True, Decimal(token.text)
        if token.kind == "string":
            return True, token.text[1:-1]
        if token.kind == "name" and token.text.lower() in names.BOOLEANS:
            return True, names.BOOLEANS[token.text.lower()]
        self.at -= 1
        return False, None

    def mention(self, token: Token) -> Name:
        self.at += 1
        self.mentions.append(Mention(token.text, token.column))
        return Name(token.text)

    # What to say of what is wrong.

    def missing_operand(self) -> ParseError:
        token, word = self.token, self.token.text
        if token.kind == "end":
            message = "The expression ends too early: a name or a value is missing."
        elif word.lower() == "not":
            message = "NOT cannot stand here without parentheses: write (NOT ...)."
        elif token.kind == "name":
            message = f"A name or a value is missing before {word}. A block named {word} is written ({word})."
        elif word == "-":
            message = "A minus stands before a number, as in -5."
        elif word in "+*/":
            message = "There is no arithmetic in skip logic: compute it in a calculated block."
        elif word == ")":
            message = "A name or a value is missing before this )."
        else:
            message = f"A name or a value is missing before {word}."
        return ParseError(message, token.column)

    def unexpected_after_condition(self) -> ParseError:
        token, before = self.token, self.tokens[self.at - 1]
        word = token.text
        if word == ")":
            message = "This ) closes nothing: a ( is missing before it."
        elif word == "-" and before.kind == "name":
            message = "In an expression a - or a space within a name is written _, as in Fav_Game."
        elif word in ("+", "-", "*", "/"):
            message = "There is no arithmetic in skip logic: compute it in a calculated block."
        elif word.lower() == "not":
            message = "Write NOT before the whole comparison, as in NOT (q1 in [1, 2])."
        elif word == ",":
            message = "Only a list in [brackets] has commas. Join conditions by AND or OR."
        elif token.kind == "name" and before.kind == "name":
            message = (
                f"AND, OR or a comparison is missing before {word}. "
                "A space within a name is written _, as in Fav_Game."
            )
        else:
            message = f"AND, OR or a comparison is missing before {word}."
        return ParseError(message, token.column)

    def bad_element(self, opening: Token) -> ParseError:
        token = self.token
        if token.kind == "end":
            return ParseError("This list is not closed: a ] is missing.", opening.column)
        if token.kind == "name":
            message = f'A list holds values, not names. Write text in double quotes: "{token.text}".'
        elif token.text == "[":
            message = "A list cannot hold another list."
        else:
            message = f"A value is missing before {token.text}."
        return ParseError(message, token.column)

    def bad_separator(self, opening: Token) -> ParseError:
        token = self.token
        if token.kind == "end":
            return ParseError("This list is not closed: a ] is missing.", opening.column)
        return ParseError("The values of a list are separated by commas.", token.column)
