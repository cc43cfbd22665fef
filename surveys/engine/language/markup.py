"""Markdown in authors' texts: bold, italics, links, and lists of two lines or more (rule 6.135).

    parts(text)      the text as lines and lists
    inline(text)     the tokens of one of these
    plain(text)      the same text without its markup, where only text fits
    escape(value)    a value of somebody else's, so that none of it is markup

Markup in the middle of a word (`snake_case`, `5*3*2`), a single line that begins like a list (`1. Why?`),
HTML and everything else stay as typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.emphasis import tokenize
from markdown_it.token import Token

SCHEMES = frozenset({"http", "https", "mailto"})
_ESCAPABLE = frozenset("\\*_[]-+.)")
_LETTERS = re.compile(r"[A-Za-z0-9]").match
_ITEM = re.compile(r"[ \t]{0,3}(?P<sign>[-*+]|[0-9]{1,3}[.)])[ \t]+(?P<text>\S.*)").fullmatch
# A text without any of these has no markup.
is_marked = re.compile(r"[*_\\]|\]\(|^[ \t]{0,3}(?:[-+]|[0-9]{1,3}[.)])[ \t]", re.MULTILINE).search
_MARKS = re.compile(r"[\\*_\[\]]")
_BEGINNING = re.compile(r"^([ \t]{0,3}[0-9]{0,3})([-+.)])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of text, or one item of a list. `sign` is the number of an item, or empty for a bullet."""

    text: str
    is_item: bool = False
    sign: str = ""


def parts(text: str) -> Iterator[Sequence[Part]]:
    """The text in order: lines in a row as one part, and each list as its items."""
    rows = [(line, _ITEM(line)) for line in text.split("\n")]
    runs = [list(run) for _, run in groupby(rows, key=lambda row: row[1] and row[1]["sign"][-1])]
    pending: list[str] = []
    for run in runs:
        if len(run) < 2 or run[0][1] is None:
            pending += [line for line, _ in run]
            continue
        if pending:
            yield [Part("\n".join(pending))]
            pending = []
        found = [match for _, match in run if match]
        yield [Part(each["text"], True, each["sign"] if each["sign"][0].isdigit() else "") for each in found]
    if pending:
        yield [Part("\n".join(pending))]


def inline(text: str) -> Sequence[Token]:
    """The tokens of a part: `text`, `strong_open`, `em_open`, `link_open`, and their ends."""
    (paragraph,) = _PARSER.parseInline(text)
    return paragraph.children or ()


def plain(text: str) -> str:
    """The text without its markup. Lists stay as typed, and links lose their addresses."""
    if not is_marked(text):
        return text
    return "\n".join(
        f"{each.sign or '-'} {_content(each.text)}" if each.is_item else _content(each.text)
        for run in parts(text)
        for each in run
    )


def escape(value: str) -> str:
    """A value, so that none of it is read as markup."""
    return _BEGINNING.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", value))


def _content(text: str) -> str:
    return "".join(token.content for token in inline(text))


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Signs between two letters or digits are no markup, as in `5*3*2`."""
    start = state.pos
    sign = state.src[start]
    if silent or sign not in "*_":
        return False
    end = start + len(state.src[start:]) - len(state.src[start:].lstrip(sign))
    if start and _LETTERS(state.src[start - 1]) and end < state.posMax and _LETTERS(state.src[end]):
        state.pending += state.src[start:end]
        state.pos = end
        return True
    return tokenize(state, silent)


def _escaped(state: StateInline, silent: bool) -> bool:
    """A backslash takes the meaning from the sign after it; before any other sign it stays."""
    after = state.src[state.pos + 1 : state.pos + 2]
    if state.src[state.pos] != "\\" or not after or after not in _ESCAPABLE:
        return False
    if not silent:
        state.pending += after
    state.pos += 2
    return True


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.netloc or parts.path)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero").enable(["emphasis", "link"])
    parser.inline.ruler.at("emphasis", _emphasis)
    parser.inline.ruler.before("emphasis", "escaped", _escaped)
    parser.validateLink = _is_address  # type: ignore[method-assign]
    return parser


_PARSER = _parser()
