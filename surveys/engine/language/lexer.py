"""Text → tokens with their positions, for skip logic and for formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import regex

# A block's name as its author writes it (rule 3.6): letters of any language. \p{M} are combining vowel
# and accent signs, which many languages need.
NAME_PATTERN = regex.compile(r"\p{L}[\p{L}\p{M}\p{Nd}_ \-]{0,63}")

# The name of a metadata field, which is sent when the conversation begins (rule 4.21).
FIELD_PATTERN = r"field\.[a-z0-9_]++"
_NAME = rf"(?:{FIELD_PATTERN}|(?:(?:themes|sentiment)\.)?+\p{{L}}[\p{{L}}\p{{M}}\p{{Nd}}_]*+)"
_PARTS = (
    r"(?P<space>\s++)"
    rf"|(?P<name>{_NAME})"
    r"|(?P<number>[0-9]++(?:\.[0-9]++)?)"
    r'|(?P<string>"(?:[^"]++|"")*+")'  # `""` inside a text is one double quote
    r"|(?P<mistake>===|!==|&&?|\|\|?|<>|=<|=>|!(?!=)|[≤≥≠≦≧'`\u00b4«»\u2018-\u201f])"
    r"|(?P<symbol>==|!=|<=|>=|[=<>()\[\],+\-*/])"
)
SKIP_LOGIC = regex.compile(_PARTS)
# In formulas, brackets contain a name, which may have spaces and `-` in it.
FORMULA = regex.compile(
    rf"\[\s*+(?P<token>{FIELD_PATTERN}\s*+|\p{{L}}[\p{{L}}\p{{M}}\p{{Nd}}_ \-]*+)\]|" + _PARTS
)

_QUOTES_MESSAGE = 'Text is written in straight double quotes: "text".'
_CORRECTIONS = {
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


class Parsed(Protocol):
    """A parsed text of either language."""

    @property
    def source(self) -> str: ...


def parsed_size(parsed: Parsed) -> int:
    """The size of a parsed text in the cache, in characters, because its memory grows with its length."""
    return _ENTRY + len(parsed.source)


class ParseError(ValueError):
    """The text is not valid in its language. `column` counts from 1; `code` is that of a violation."""

    def __init__(self, message: str, column: int, code: str = "syntax_error") -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.code = code

    def __reduce__(self) -> tuple[type[ParseError], tuple[str, int, str]]:
        return type(self), (self.message, self.column, self.code)


MAX_LENGTH = 2_000  # of an expression or a formula
MAX_NESTING = 50  # levels of parentheses, NOT and if
# The parsed expressions that a process keeps, and as many formulas, in characters: all of one largest script,
# which has 200 blocks. An answer evaluates every condition of its script, and one of 2,000 characters takes
# some milliseconds to parse. Parsed, it takes up to 600 kB, so that all take up to 150 MB.
MAX_PARSED = 500_000
_ENTRY = 20  # characters that the entry of a text in the cache counts for


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it is written in a text; `column` counts from 1."""

    name: str
    column: int


class Token(NamedTuple):
    """A token of a text. `kind` is name, number, string, symbol, token (only in formulas) or end."""

    kind: str
    text: str  # as written; a `token` without its brackets
    start: int  # from 0

    @property
    def column(self) -> int:
        return self.start + 1


def lex(text: str, grammar: regex.Pattern[str] = SKIP_LOGIC) -> list[Token]:
    """Split a text into tokens; the last has the kind `end`. Takes linear time. Raises ParseError."""
    tokens: list[Token] = []
    at = 0
    for match in grammar.finditer(text):
        if match.start() != at:
            break
        at = match.end()
        if match.lastgroup != "space":
            tokens.append(_token(match))
    if at != len(text):
        raise _unexpected_character(text, at)
    tokens.append(Token("end", "", at))
    return tokens


def quoted(text: str) -> str:
    """The text as a string of an expression or a formula, with each double quote doubled (rule 4.5)."""
    return '"' + text.replace('"', '""') + '"'


def unquoted(text: str) -> str:
    """The text that a string of an expression or a formula represents (rule 4.5)."""
    return text[1:-1].replace('""', '"')


def next_token(text: str, at: int, grammar: regex.Pattern[str]) -> tuple[Token, int]:
    """The token at or after a position, and where it ends; for texts that are only partly tokens."""
    while (match := grammar.match(text, at)) is not None:
        at = match.end()
        if match.lastgroup != "space":
            return _token(match), at
    if at != len(text):
        raise _unexpected_character(text, at)
    return Token("end", "", at), at


def _token(match: regex.Match[str]) -> Token:
    kind = match.lastgroup or ""
    if kind == "mistake":
        raise ParseError(_CORRECTIONS.get(match.group(), _QUOTES_MESSAGE), match.start() + 1)
    return Token(kind, match.group(kind).rstrip(), match.start())


def _unexpected_character(text: str, at: int) -> ParseError:
    """The error for a character that cannot begin a token."""
    character = text[at]
    if character == '"':
        return ParseError('This text is not closed: a " is missing at its end.', at + 1)
    if character == "_":
        return ParseError("A name must begin with a letter, not with _.", at + 1)
    if character == "." and (text[at - 1 : at].isdigit() or text[at + 1 : at + 2].isdigit()):
        return ParseError("A number needs digits on both sides of its point, as in 0.5.", at + 1)
    shown = character if character.isprintable() else f"U+{ord(character):04X}"
    return ParseError(f"The character {shown} has no meaning here.", at + 1)
