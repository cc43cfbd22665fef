"""Parses the text of an expression to its tree (rules 4.2 to 4.4); an error says what to write instead.

    or          = and { OR and }
    and         = not { AND not }
    not         = NOT not | comparison
    comparison  = operand [ ("=" | "==" | "!=" | "<" | ">" | "<=" | ">=" | in) operand ]
    operand     = name | literal | list | "(" or ")" | "(" keyword ")"
    list        = "[" [ literal { "," literal } ] "]"
    literal     = ["-"] number | string | true | false

Inside a string `""` is one double quote. Keywords may be in any case. A keyword alone in parentheses is a
name, so that an expression can refer to a block named `And`.
"""

from __future__ import annotations

from decimal import Decimal

from surveys.engine.language import names
from surveys.engine.language.expression_tree import ExpressionNode, Literal, Name
from surveys.engine.language.lexer import Mention, ParseError, Token, lex, unquoted
from surveys.engine.language.logic_tree import Comparison, LogicParser
from surveys.engine.language.values import Value

_SIGNS = {"=": "=", "==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def read(text: str) -> tuple[ExpressionNode, tuple[Mention, ...]]:
    """The tree, and every name in the order of the text. Raises ParseError."""
    parser = _ExpressionParser(lex(text))
    tree = parser.whole()
    return tree, tuple(parser.mentions)


class _ExpressionParser(LogicParser[ExpressionNode]):
    nesting = "Parentheses and NOT"

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__()
        self.tokens = tokens
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def advance(self) -> Token:
        self.last = self.tokens[self.at]
        self.at += 1
        return self.last

    def sign(self) -> str | None:
        """The comparison operator that is next, in its canonical spelling; None if there is none."""
        if self.next_is("in"):
            return "in"
        return _SIGNS.get(self.token.text) if self.token.kind == "symbol" else None

    # The grammar, lowest precedence first.

    def whole(self) -> ExpressionNode:
        if self.token.kind == "end":
            raise ParseError('An expression cannot be empty. Write a condition, such as q1 = "Yes".', 1)
        tree = self.disjunction()
        if self.token.kind != "end":
            raise self.unexpected_after_condition()
        return tree

    def comparison(self) -> ExpressionNode:
        left = self.operand()
        sign = self.sign()
        if sign is None:
            return left
        column = self.advance().column
        comparison: ExpressionNode = Comparison(sign, left, self.operand(), column)
        if self.sign() is not None:
            message = "Comparisons cannot be chained. Write a < b AND b < c instead of a < b < c."
            raise ParseError(message, self.token.column)
        return comparison

    def operand(self) -> ExpressionNode:
        if self.next_is("("):
            return self.parenthesised()
        if self.accept("["):
            return self.elements()
        literal = self.literal()
        if literal is not None:
            return literal
        token = self.token
        if token.kind != "name" or token.text.lower() in names.KEYWORDS:
            raise self.missing_operand()
        return Name(self.mention())

    def parenthesised(self) -> ExpressionNode:
        opening = self.advance()
        if self.token.text.lower() in names.KEYWORDS and self.tokens[self.at + 1].text == ")":
            name = Name(self.mention())
            self.advance()
            return name
        self.enter(opening)
        inside = self.disjunction()
        self.depth -= 1
        if not self.accept(")"):
            if self.token.kind == "end":
                raise ParseError("This parenthesis is not closed: a ) is missing.", opening.column)
            raise self.unexpected_after_condition()
        return inside

    def elements(self) -> Literal:
        opening = self.last
        elements: list[Literal] = []
        if self.accept("]"):
            return Literal(())
        while True:
            element = self.literal()
            if element is None:
                raise self.bad_element(opening)
            elements.append(element)
            if self.accept("]"):
                places = tuple(place for each in elements for place in each.places)
                return Literal(tuple(each.value for each in elements), places)
            if not self.accept(","):
                raise self.bad_separator(opening)

    def literal(self) -> Literal | None:
        """Read a literal if one is next."""
        token = self.token
        minus = self.next_is("-") and self.tokens[self.at + 1].kind == "number"
        last = self.tokens[self.at + minus]
        value: Value
        if last.kind == "number":
            value = Decimal(f"-{last.text}" if minus else last.text)
        elif token.kind == "string":
            value = unquoted(token.text)
        elif token.kind == "name" and token.text.lower() in names.BOOLEANS:
            value = names.BOOLEANS[token.text.lower()]
        else:
            return None
        for _ in range(1 + minus):
            self.advance()
        return Literal(value, ((token.start, last.start + len(last.text)),))

    # Errors.

    def missing_operand(self) -> ParseError:
        token, word = self.token, self.token.text
        if token.kind == "end":
            message = "The expression ends too early: a name or a value is missing."
        elif word.lower() == "not":
            message = "NOT needs parentheses here: write (NOT ...)."
        elif token.kind == "name":
            message = f"A name or a value is missing before {word}. A block named {word} is written ({word})."
        elif word == "-":
            message = "A minus must be followed by a number, as in -5."
        elif word in "+*/":
            message = "Skip logic has no arithmetic: compute the value in a calculated block."
        elif word == ")":
            message = "A name or a value is missing before this )."
        else:
            message = f"A name or a value is missing before {word}."
        return ParseError(message, token.column)

    def unexpected_after_condition(self) -> ParseError:
        token, before = self.token, self.last
        word = token.text
        if word == ")":
            message = "This ) closes nothing: a ( is missing before it."
        elif word == "-" and before.kind == "name":
            message = "In an expression, write _ for a - or a space in a name, as in Fav_Game."
        elif word in ("+", "-", "*", "/"):
            message = "Skip logic has no arithmetic: compute the value in a calculated block."
        elif word.lower() == "not":
            message = "Write NOT before the whole comparison, as in NOT (q1 in [1, 2])."
        elif word == ",":
            message = "Only a list in [brackets] takes commas. Join conditions by AND or OR."
        elif token.kind == "name" and before.kind == "name":
            message = (
                f"AND, OR or a comparison is missing before {word}. "
                "Write _ for a space in a name, as in Fav_Game."
            )
        else:
            message = f"AND, OR or a comparison is missing before {word}."
        return ParseError(message, token.column)

    def bad_element(self, opening: Token) -> ParseError:
        token = self.token
        if token.kind == "end":
            return ParseError("This list is not closed: a ] is missing.", opening.column)
        if token.kind == "name":
            message = (
                f'A list holds values, not names. Write text in double quotes: "{token.text}"; '
                "a name has no brackets."
            )
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
