"""Markdown in authors' texts: bold, italics, links, and lists of two lines or more (rule 6.135).

    parts(text)      the text as lines and lists
    inline(text)     the tokens of one of these
    plain(text)      the same text without its markup, where only text fits
    rendered(text)   the same text in another form, such as HTML
    escape(value)    a value of somebody else's, so that none of it is markup

Markup in the middle of a word (`snake_case`, `5*3*2`), a single line that begins like a list (`1. Why?`),
HTML and everything else stay as typed. So does a text with more than MAX_SIGNS signs, each of which takes the
parser about 10 µs (rule 11.33).

The parsed forms of authors' texts are cached, so that a page or an export parses each text once. Values of
tokens are inserted into the parsed form, and are not cached.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from threading import Lock
from urllib.parse import urlsplit

import nh3
from cachetools import LRUCache
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, link
from markdown_it.rules_inline.emphasis import tokenize
from markdown_it.token import Token

from surveys.engine.language.piping import WORD, Authored, Filled

MAX_SIGNS = 500  # in a text with markup; equal signs in a row count once
MAX_KEPT = 4_000_000  # characters in a process, of texts and of their forms
SIZE_OF_KEPT = 400  # bytes that a kept text needs besides its characters
SCHEMES = frozenset({"http", "https", "mailto"})
# Removes an address that no browser can open, as the cleaner of pages does.
_CLEANER = nh3.Cleaner(tags={"a"}, attributes={"a": {"href"}}, url_schemes=set(SCHEMES), link_rel=None)
_ESCAPABLE = frozenset("\\*_[]-+.)")
_LETTERS = re.compile(rf"[A-Za-z0-9{WORD}]").match
_ITEM = re.compile(r"[ \t]{0,3}(?P<sign>[-*+]|[0-9]{1,3}[.)])[ \t]+(?P<text>\S.*)").fullmatch
# A text without any of these has no markup.
is_marked = re.compile(r"[*_\\]|\]\(|^[ \t]{0,3}(?:[-+]|[0-9]{1,3}[.)])[ \t]", re.MULTILINE).search
# A part without any of these is text. The parser stops at _STOPS.
_has_signs = re.compile(r"[*_\\]|\]\(").search
_STOPS = re.compile(r"[\\*_\[\]]")
_signs = re.compile(r"[\[\]]|([*_\\])\1*+").finditer
_MOST_IN_A_ROW = 3  # as in `***both***`
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
    if not _has_signs(text):
        return (Token("text", "", 0, content=text),)
    (paragraph,) = _PARSER.parseInline(text)
    return paragraph.children or ()


def plain(text: str) -> str:
    """The text without its markup. Lists stay as typed, and links lose their addresses."""
    return rendered(text, _plain)


def rendered(
    text: str,
    form: Callable[[str], str],
    *,
    as_typed: Callable[[str], str] = str,
) -> str:
    """The form of a text with markup, else what `as_typed` makes of the text.

    `form` is called once for an author's text, as long as the result is kept. The values of a filled text are
    put into the form of its template by `as_typed`.
    """
    if isinstance(text, Filled):
        filled = text.put_in(_kept_form(text.template, form, as_typed), as_typed)
        if filled is not None:
            return filled
    if type(text) is Authored:
        return _kept_form(text, form, as_typed)
    return form(text) if _is_parsed(text) else as_typed(text)


def escape(value: str) -> str:
    """A value, so that none of it is read as markup."""
    return _BEGINNING.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", value))


def _kept_form(text: str, form: Callable[[str], str], as_typed: Callable[[str], str]) -> str:
    if not is_marked(text):
        return as_typed(text)
    key = form, str(text)
    with _lock:
        kept = _kept.get(key)
    if kept is None:
        kept = key[1], form(key[1]) if _is_parsed(text) else as_typed(key[1])
        with _lock:
            _kept[key] = kept
    return kept[1]


def _is_parsed(text: str) -> bool:
    if not is_marked(text):
        return False
    return next(islice(_signs(text), MAX_SIGNS, None), None) is None


def _plain(text: str) -> str:
    return "\n".join(
        f"{each.sign or '-'} {_content(each.text)}" if each.is_item else _content(each.text)
        for run in parts(text)
        for each in run
    )


def _content(text: str) -> str:
    return "".join(token.content for token in inline(text))


def _emphasis(state: StateInline, silent: bool) -> bool:
    """Signs between two letters or digits are no markup, as in `5*3*2`, nor is a line like `____`."""
    start = state.pos
    sign = state.src[start]
    if silent or sign not in "*_":
        return False
    end = start
    while end < state.posMax and state.src[end] == sign:
        end += 1
    is_in_word = start and _LETTERS(state.src[start - 1]) and end < state.posMax and _LETTERS(state.src[end])
    if is_in_word or end - start > _MOST_IN_A_ROW:
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


def _link(state: StateInline, silent: bool) -> bool:
    """The end of a label is only looked for where one may follow."""
    return state.src.find("](", state.pos, state.posMax) >= 0 and link(state, silent)


def _is_address(url: str) -> bool:
    """Whether a link may lead to an address: browsers must find a host in it, where it needs one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    has_place = parts.path if parts.scheme == "mailto" else parts.netloc
    return (
        parts.scheme in SCHEMES
        and bool(has_place)
        and "href" in _CLEANER.clean(f'<a href="{html.escape(url)}">')
    )


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero").enable(["emphasis", "link"])
    parser.inline.terminator_re = _STOPS
    parser.inline.ruler.at("emphasis", _emphasis)
    parser.inline.ruler.at("link", _link)
    parser.inline.ruler.before("emphasis", "escaped", _escaped)
    parser.validateLink = _is_address  # type: ignore[method-assign]
    return parser


def _size_of(kept: tuple[str, str]) -> int:
    return SIZE_OF_KEPT + len(kept[0]) + len(kept[1])


_PARSER = _parser()
# By form and text: the text and its form
_kept: LRUCache[tuple[Callable[[str], str], str], tuple[str, str]] = LRUCache(MAX_KEPT, getsizeof=_size_of)
_lock = Lock()
