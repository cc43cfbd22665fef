"""Text → tokens that know their place; shared by skip logic and formulas."""

from __future__ import annotations

from typing import NamedTuple

import regex

# A block's name as its owner writes it (decisions 6.1). Letters are those of any language; \p{M} are
# the vowel and accent signs without which words of many of them cannot be spelled.
NAME_PATTERN = regex.compile(r"\p{L}[\p{L}\p{M}\p{Nd}_ \-]{0,63}")

_NAME = r"\p{L}[\p{L}\p{M}\p{Nd}_]*+"
_PARTS = (
    r"(?P<space>\s++)"
    rf"|(?P<name>{_NAME})"
    r"|(?P<number>[0-9]++(?:\.[0-9]++)?)"
    r'|(?P<string>"[^"]*+")'
    r"|(?P<mistake>===|!==|&&?|\|\|?|<>|=<|=>|!(?!=)|[≤≥≠≦≧'`\u00b4«»\u2018-\u201f])"
    r"|(?P<symbol>==|!=|<=|>=|[=<>()\[\],+\-*/])"
)
SKIP_LOGIC = regex.compile(_PARTS)
# In formulas a pair of brackets holds a name, which there may have spaces and `-` in it.
FORMULA = regex.compile(r"\[\s*+(?P<token>\p{L}[\p{L}\p{M}\p{Nd}_ \-]*+)\]|" + _PARTS)

_DOUBLE_QUOTES = 'Text is written in straight double quotes: "text".'
_INSTEAD = {
    "===": "Write = to compare.",
    "!==": "Write != for not equal.",
    "&&": "Write AND instead of &&.",
    "&": "Write AND instead of &.",
    "||": "Write OR instead of ||.",
    "|": "Write OR instead of |.",
    "<>": "Write != instead of <>.",
    "=<": "Write <= instead of =<.",
    "=>": "Write >= instead of =>.",
    "!": "Write NOT instead of !.",
    "≤": "Write <= instead of ≤.",
    "≦": "Write <= instead of ≦.",
    "≥": "Write >= instead of ≥.",
    "≧": "Write >= instead of ≧.",
    "≠": "Write != instead of ≠.",
}


class ParseError(ValueError):
    """A text is not in the language. `column` counts from 1; `code` is of the violation vocabulary."""

    def __init__(self, message: str, column: int, code: str = "syntax_error") -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.code = code

    def __reduce__(self) -> tuple[type[ParseError], tuple[str, int, str]]:
        return type(self), (self.message, self.column, self.code)


class Token(NamedTuple):
    """One word of a text. `kind`: name, number, string, symbol, token (formulas alone) or end."""

    kind: str
    text: str  # as written; without the brackets for a token
    start: int  # from 0

    @property
    def column(self) -> int:
        return self.start + 1


def lex(text: str, grammar: regex.Pattern[str] = SKIP_LOGIC) -> list[Token]:
    """Cut a text into tokens, the last of kind `end`. Linear in its length. Raises SyntaxFault."""
    tokens: list[Token] = []
    at = 0
    for found in grammar.finditer(text):
        if found.start() != at:
            break
        at = found.end()
        if found.lastgroup != "space":
            tokens.append(_token(found))
    if at != len(text):
        raise _stray(text, at)
    tokens.append(Token("end", "", at))
    return tokens


def lex_one(text: str, at: int, grammar: regex.Pattern[str]) -> tuple[Token, int]:
    """The next token from a place on, and where it ends: for texts of which not all is in the language."""
    while (found := grammar.match(text, at)) is not None:
        at = found.end()
        if found.lastgroup != "space":
            return _token(found), at
    if at != len(text):
        raise _stray(text, at)
    return Token("end", "", at), at


def _token(found: regex.Match[str]) -> Token:
    kind = found.lastgroup or ""
    if kind == "mistake":
        raise ParseError(_INSTEAD.get(found.group(), _DOUBLE_QUOTES), found.start() + 1)
    return Token(kind, found.group(kind).rstrip(), found.start())


def _stray(text: str, at: int) -> ParseError:
    """What to say of a character that begins nothing."""
    character = text[at]
    if character == '"':
        return ParseError('This text is not closed: a " is missing at its end.', at + 1)
    if character == "_":
        return ParseError("A name begins with a letter, not with _.", at + 1)
    if character == "." and (text[at - 1 : at].isdigit() or text[at + 1 : at + 2].isdigit()):
        return ParseError("A number has digits on both sides of its point, as in 0.5.", at + 1)
    seen = character if character.isprintable() else f"U+{ord(character):04X}"
    return ParseError(f"The character {seen} has no meaning here.", at + 1)
