"""Parses the text of a formula to its tree (rules 4.22 to 4.24); an error says what to write instead.

    formula    = if | or                         without a comparison or text as the outcome
    if         = IF or THEN value ELSE (if | value)
    value      = if | or | words                 without a comparison as the outcome
    or         = and { OR and }
    and        = not { AND not }
    not        = NOT not | comparison
    comparison = sum [ ("==" | "=" | "!=" | "<" | ">" | "<=" | ">=") sum ]
    sum        = product { ("+" | "-") product }
    product    = factor { ("*" | "/") factor }
    factor     = { "-" } operand
    operand    = number | "[" name "]" | string | argmax | "(" (if | or) ")"
    argmax     = ARGMAX "(" "[" name "]" { "," "[" name "]" } ")"

`words` are text without quotes. They begin with a letter or a pictogram and end before the next whole word
`if`, `then` or `else`, and inside parentheses before the closing one. They may contain any character, so
they are not split into tokens. Keywords may be in any case.
Inside a string `""` is one double quote.
"""

from __future__ import annotations

from decimal import Decimal

import regex

from surveys.engine.language.formula_tree import (
    Argmax,
    Conditional,
    FormulaNode,
    Negative,
    NumberLiteral,
    Product,
    Sum,
    TextLiteral,
    Variable,
)
from surveys.engine.language.lexer import (
    FORMULA,
    Mention,
    ParseError,
    Token,
    next_token,
    unquoted,
)
from surveys.engine.language.logic_tree import (
    LOGIC_NODES,
    Comparison,
    Conjunction,
    Disjunction,
    LogicParser,
    Negation,
)

_SIGNS = {"=": "==", "==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

_IN_WORD = r"[\p{L}\p{M}\p{Nd}_\-]"
_KEYWORD = rf"(?<!{_IN_WORD})(?:if|then|else)(?!{_IN_WORD})"
_WORDS_BEGIN = regex.compile(rf"\s*+(?!{_KEYWORD}|argmax\s*+\()(?=[\p{{L}}\p{{So}}¡¿])", regex.IGNORECASE)
_WORDS_MAY_END = regex.compile(rf"[()]|{_KEYWORD}", regex.IGNORECASE)
_SIGN = regex.compile(r"\s*+(?P<sign>[^\s\"_.])")
_ELSE_IF_IN_ONE = regex.compile(rf"(?<!{_IN_WORD})(?:elseif|elsif|elif)(?!{_IN_WORD})", regex.IGNORECASE)
_IF_AS_A_FUNCTION = regex.compile(rf"(?<!{_IN_WORD})if\s*+\(", regex.IGNORECASE)


def read(text: str) -> tuple[FormulaNode, tuple[Mention, ...]]:
    """The tree, and every name in brackets in the order of the text. Raises ParseError."""
    parser = _FormulaParser(text)
    tree = parser.whole()
    return tree, tuple(parser.mentions)


class _FormulaParser(LogicParser[FormulaNode]):
    nesting = "Parentheses, if and NOT"

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.at = 0  # where the last token ends
        self.ahead: tuple[Token, int] | None = None  # split off only when needed, because words are no tokens
        self.parentheses = 0

    @property
    def token(self) -> Token:
        if self.ahead is None:
            self.ahead = next_token(self.text, self.at, FORMULA)
        return self.ahead[0]

    def advance(self) -> Token:
        self.last = self.token
        if self.ahead is not None:
            self.at = self.ahead[1]
        self.ahead = None
        return self.last

    # The grammar, lowest precedence first.

    def whole(self) -> FormulaNode:
        if not self.text.strip():
            raise ParseError("A formula cannot be empty. Write arithmetic, such as [score] * 2.", 1)
        tree = self.inside()
        if self.token.kind != "end":
            raise self.unexpected()
        if isinstance(tree, TextLiteral):
            message = (
                "A formula cannot be text alone: text is allowed after then, after else and in comparisons."
            )
            raise ParseError(message, tree.column)
        return self.outcome(tree)

    def inside(self) -> FormulaNode:
        return self.choice() if self.next_is("if") else self.disjunction()

    def choice(self) -> FormulaNode:
        opening = self.token
        self.enter(opening)
        cases: list[tuple[FormulaNode, FormulaNode]] = []
        while not cases or (not self.words_begin() and self.next_is("if")):
            self.advance()
            condition = self.condition(self.disjunction())
            if not self.accept("then"):
                raise self.not_then()
            value = self.value()
            if not self.accept("else"):
                raise self.not_else(opening)
            cases.append((condition, value))
        otherwise = self.value()
        self.depth -= 1
        return Conditional(tuple(cases), otherwise)

    def value(self) -> FormulaNode:
        """The value after then or else."""
        return self.words() if self.words_begin() else self.outcome(self.inside())

    def words_begin(self) -> bool:
        """Whether text without quotes is next. Raises ParseError if such text is ambiguous."""
        if _WORDS_BEGIN.match(self.text, self.at):
            return True
        match = _SIGN.match(self.text, self.at)
        if match and match["sign"].isprintable() and not FORMULA.match(self.text, match.start("sign")):
            message = f"Text that begins with {match['sign']} is written in double quotes."
            raise ParseError(message, match.start("sign") + 1)
        return False

    def words(self) -> TextLiteral:
        depth, until = 0, len(self.text)
        for match in _WORDS_MAY_END.finditer(self.text, self.at):
            if match.group() == "(":
                depth += 1
            elif match.group() == ")" and (depth or not self.parentheses):
                depth = max(0, depth - 1)
            else:
                until = match.start()
                break
        words = self.text[self.at : until]
        column = self.at + len(words) - len(words.lstrip()) + 1
        words = words.strip()
        self.last, self.at, self.ahead = Token("words", words, column - 1), until, None
        return TextLiteral(words, column)

    def comparison(self) -> FormulaNode:
        left = self.sum()
        token = self.token
        if not self.next_is(*_SIGNS):
            return left
        self.advance()
        comparison: FormulaNode = Comparison(
            _SIGNS[token.text], self.side(left), self.side(self.sum()), token.column
        )
        if self.next_is(*_SIGNS):
            message = "Comparisons cannot be chained. Write [a] < [b] AND [b] < [c]."
            raise ParseError(message, self.token.column)
        return comparison

    def sum(self) -> FormulaNode:
        parts = [self.product()]
        while self.next_is("+", "-"):
            sign = self.advance().text
            part = self.product()
            parts.append(Negative(self.amount(part)) if sign == "-" else part)
        return parts[0] if len(parts) == 1 else Sum(tuple(map(self.amount, parts)))

    def product(self) -> FormulaNode:
        first = self.factor()
        steps: list[tuple[str, FormulaNode]] = []
        while self.next_is("*", "/"):
            sign = self.advance().text
            steps.append((sign, self.amount(self.factor())))
        return Product(self.amount(first), tuple(steps)) if steps else first

    def factor(self) -> FormulaNode:
        minuses = 0
        while self.accept("-"):
            minuses += 1
        part = self.operand()
        if not minuses:
            return part
        # A double minus still converts a variable that may contain text to a number.
        return Negative(self.amount(part)) if minuses % 2 else Sum((self.amount(part),))

    def operand(self) -> FormulaNode:
        token = self.token
        if self.next_is("("):
            return self.parenthesised()
        if self.next_is("argmax"):
            return self.argmax()
        if token.kind == "token":
            return Variable(self.mention())
        if token.kind == "number":
            return NumberLiteral(Decimal(self.advance().text), token.column)
        if token.kind == "string":
            return TextLiteral(unquoted(self.advance().text), token.column)
        raise self.missing_operand()

    def parenthesised(self) -> FormulaNode:
        opening = self.advance()
        self.enter(opening)
        self.parentheses += 1
        inside = self.inside()
        self.depth -= 1
        self.parentheses -= 1
        if not self.accept(")"):
            raise self.not_closed(opening) if self.token.kind == "end" else self.unexpected()
        return inside

    def argmax(self) -> Argmax:
        word = self.advance()
        example = "argmax([score_a], [score_b])"
        if not self.next_is("("):
            message = f"argmax is followed by variables in parentheses, as in {example}."
            raise ParseError(message, word.column)
        opening = self.advance()
        names: list[str] = []
        while not names or self.accept(","):
            if self.token.kind != "token":
                raise self.bad_argument(opening, f"argmax takes variables in brackets, as in {example}.")
            names.append(self.mention())
        if not self.accept(")"):
            raise self.bad_argument(opening, f"Separate the variables by commas, as in {example}.")
        return Argmax(tuple(names))

    # Which parts are allowed in which position.

    def outcome(self, node: FormulaNode) -> FormulaNode:
        """A value; comparisons are refused."""
        if isinstance(node, Comparison):
            message = "A comparison is only allowed between if and then, as in: if [score] > 5 then 1 else 0."
            raise ParseError(message, node.column)
        if isinstance(node, Negation | Conjunction | Disjunction):
            message = (
                "AND, OR and NOT are only allowed between if and then, as in: if NOT [score] then 1 else 0."
            )
            raise ParseError(message, node.column)
        return node

    def condition(self, node: FormulaNode) -> FormulaNode:
        """A comparison or a number; text is refused."""
        if isinstance(node, TextLiteral):
            message = 'A condition cannot be text alone: compare it, as in [game] == "chess".'
            raise ParseError(message, node.column)
        return node

    def side(self, node: FormulaNode) -> FormulaNode:
        """A side of a comparison: a number or text; conditions are refused."""
        if isinstance(node, LOGIC_NODES):
            raise ParseError("Conditions are not compared: join them by AND, OR and NOT.", node.column)
        return node

    def amount(self, node: FormulaNode) -> FormulaNode:
        """An operand of arithmetic: conditions and text are refused."""
        if isinstance(node, LOGIC_NODES):
            message = "Arithmetic cannot contain conditions. Write (if [score] > 5 then 1 else 0)."
            raise ParseError(message, node.column)
        if isinstance(node, TextLiteral):
            raise ParseError("Arithmetic with text is not possible.", node.column)
        return node

    # Errors.

    def missing_operand(self) -> ParseError:
        token, word = self.token, self.token.text
        lower = word.lower()
        message = f"A number or a variable is missing before {word}."
        if token.kind == "end":
            message = "The formula ends too early: a number or a variable is missing."
        elif lower == "if":
            message = "An if inside a formula needs parentheses: (if ... then ... else ...)."
        elif lower == "not":
            message = "NOT needs parentheses here: write (NOT ...)."
        elif lower in ("true", "false"):
            message = "Formulas have no true and false: write 1 and 0, or text in double quotes."
        elif token.kind == "name" and lower not in ("and", "or", "then", "else", "in"):
            message = self.bare_name(word)
        elif word == "[" and "]" not in self.text[token.start :]:
            message = "This bracket is not closed: a ] is missing."
        elif word == "[":
            message = "Brackets hold the name of a variable, which begins with a letter: [score]."
        elif word == "+":
            message = "A + must be between two numbers."
        return ParseError(message, token.column)

    def bare_name(self, word: str) -> str:
        _, end = next_token(self.text, self.at, FORMULA)
        if self.text[end:].lstrip().startswith("("):
            return f"There is no function {word}: argmax is the only one."
        if self.last.text in _SIGNS:
            return f'Write a variable in brackets and text in double quotes: [{word}] or "{word}".'
        return f"Write a variable in brackets: [{word}]."

    def not_then(self) -> ParseError:
        token = self.token
        if token.kind == "end" or self.next_is("else") or self.closes():
            return ParseError("then is missing: write if ... then ... else ...", token.column)
        return self.unexpected()

    def not_else(self, opening: Token) -> ParseError:
        if self.last.kind == "words" and self.next_is("if", "then"):
            return self.unexpected()
        if self.token.kind == "end" or self.next_is("then") or self.closes():
            return ParseError("This if has no else: write if ... then ... else ...", opening.column)
        return self.unexpected()

    def closes(self) -> bool:
        return self.parentheses > 0 and self.next_is(")")

    def not_closed(self, opening: Token) -> ParseError:
        return ParseError("This parenthesis is not closed: a ) is missing.", opening.column)

    def bad_argument(self, opening: Token, message: str) -> ParseError:
        if self.token.kind == "end":
            return self.not_closed(opening)
        return ParseError(message, self.token.column)

    def unexpected(self) -> ParseError:
        """The error for a token after the end of the formula, or of its part."""
        token, word, before = self.token, self.token.text, self.last
        lower = word.lower()
        shown = f"[{word}]" if token.kind == "token" else word
        message = f"An operator such as + is missing before {shown}."
        if _ELSE_IF_IN_ONE.search(word) or (before.kind == "words" and _ELSE_IF_IN_ONE.search(before.text)):
            message = "Write else if, in two words: if ... then ... else if ... then ... else ..."
        elif before.kind == "words" and lower in ("if", "then", "else"):
            message = f"Text with the word {word} in it is written in double quotes."
        elif lower in ("then", "else"):
            message = f"This {lower} has no if before it: write if ... then ... else ..."
        elif lower == "not":
            message = "Write NOT before the whole comparison, as in NOT [score] > 5."
        elif lower == "in":
            message = "Formulas have no in: write comparisons joined by OR."
        elif word == ")":
            message = "This ) closes nothing: a ( is missing before it."
        elif word == "," and _IF_AS_A_FUNCTION.search(self.text, 0, token.start):
            message = (
                "An if takes no commas: write if ... then ... else ... Write a decimal point, as in 0.5."
            )
        elif word == ",":
            message = "Only argmax takes commas. Write a decimal point, as in 0.5."
        elif token.kind == "name" and before.kind == "number":
            message = f'Text that begins with a digit is written in double quotes: "{before.text} {word}".'
        elif word == "[":
            return self.missing_operand()
        return ParseError(message, token.column)
