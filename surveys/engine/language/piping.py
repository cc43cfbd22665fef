"""Piping: [tokens] in prompts and feedback → text (rules 4.27 to 4.32).

    fill("Thanks, [UserName|friend]!", text_of)     the words after the bar replace an empty value

Each value and each filled text has a limit, because their product would have none: a prompt may contain a
thousand tokens, and an answer ten thousand characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Self
from urllib.parse import quote

import regex

from surveys.engine.language import names
from surveys.engine.language.lexer import FIELD_PATTERN, Mention
from surveys.engine.script import title_case

# Variables that exist only in prompts, in any case; skip logic cannot use them.
PROMPT_VARIABLES = frozenset(
    {
        "username",
        "xp_points",
        "xp_name",
        "earned_xp",
        "month_total_xp",
        "xp_to_next_level",
        "next_xp_level",
    }
)
MAX_VALUE = 500  # characters of a value that are inserted
MAX_FILLED = 8_000  # characters of a text once its tokens are filled in
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_TOKEN = regex.compile(
    rf"\[\s*+(?P<name>{FIELD_PATTERN}\s*+|\p{{L}}[\p{{L}}\p{{M}}\p{{Nd}}_ \-]*+)(?P<fallback>\|[^\[\]]*+)?\]"
    r"(?!\((?:https?://|mailto:))"  # a link of Markdown, such as [our site](https://example.org)
)
# From the end of a label to the end of its address, or of the parenthesis that follows a token.
_TARGET = regex.compile(
    r"\]\((?:<[^<>\n]*+>|\\[()]|\[[^\[\]]*+\]|\((?:[^()\[\]]|\[[^\[\]]*+\])*+\)|(?!\]\()[^()])*+\)"
)
_MAIL = "](mailto:"
_in_host = re.compile(r"//[^/?#]*$").search  # a value here decides whether there is a link at all
_NOTHING = "\0"  # stands for an empty value, until the signs around it are put right; no text contains it
_AROUND_NOTHING: tuple[tuple[regex.Pattern[str], str | Callable[[regex.Match[str]], str]], ...] = (
    (regex.compile(r"^\0[,:;]? +(\w)", regex.MULTILINE), lambda found: found[1].upper()),
    (regex.compile(r",? ?+\0(?=[.!?…]|$)", regex.MULTILINE), ""),
    (regex.compile(r" \0(?=[ ,;:)])"), ""),
    (regex.compile(r"\0"), ""),
)
# Letters of no alphabet, which stand for the values in the template of a filled text: for an end of a value
# that is an ASCII letter or digit, and for any other. Together they are a pair for each value.
WORD, OTHER = "\ufdd0", "\ufdd1"
STAND_INS = re.compile(f"[{WORD}{OTHER}]{{2}}")
BARE_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)  # the chat makes a link of it
# What stands for a value in the address of a link, with its place among such values
_IN_ADDRESSES = re.compile("xqz([0-9]+)zqx")
_BEGINS_WITH_NOTHING = re.compile(rf"^\0[,:;]? +({STAND_INS.pattern})", re.MULTILINE)


class Authored(str):
    """A text that the author of a script wrote and nobody else, such as the label of a chosen option."""

    __slots__ = ()


class Filled(str):
    """A filled text of which the author's part is still known: `template` has two stand-ins for each value.

    The first stands for the beginning of the value, the second for its end. `values` are not escaped, and
    `addresses`, the values in addresses of links, are percent-encoded.
    """

    __slots__ = ("addresses", "template", "values")
    template: str
    values: Sequence[str]
    addresses: Sequence[str]

    @classmethod
    def of(cls, text: str, template: str, values: Sequence[str], addresses: Sequence[str]) -> Self:
        filled = cls(text)
        filled.template, filled.values, filled.addresses = template, values, addresses
        return filled

    def _address(self, found: re.Match[str]) -> str:
        place = int(found[1])  # none of this text, if an author wrote it in pieces around an empty value
        return self.addresses[place] if place < len(self.addresses) else found[0]

    def put_in(self, form: str, value: Callable[[str], str]) -> str | None:
        """A form of the template, with `value` of each value; None if the form lost the place of one."""
        pieces = STAND_INS.split(_IN_ADDRESSES.sub(self._address, form))
        if len(pieces) != len(self.values) + 1:
            return None
        return "".join(chain.from_iterable(zip_longest(pieces, map(value, self.values), fillvalue="")))


class Point(Authored):
    """A point of a scale in words, such as “4 of 5 ★”, with its `number` for addresses."""

    __slots__ = ("number",)
    number: str

    def __new__(cls, words: str, number: str) -> Self:
        point = super().__new__(cls, words)
        point.number = number
        return point


def in_address(value: str, *, safe: str = "") -> str:
    """A value as part of an address, percent-encoded. A point of a scale is its number."""
    return quote(value.number if isinstance(value, Point) else value, safe=safe)


def tokens(text: str) -> tuple[str, ...]:
    """The names in [brackets] as written, in the order of the text. Brackets without a name are no token."""
    return tuple(match["name"].rstrip() for match in _TOKEN.finditer(text))


def mentions(text: str) -> tuple[Mention, ...]:
    """The same names with their columns."""
    return tuple(Mention(match[1].rstrip(), match.start() + 1) for match in _TOKEN.finditer(text))


def tokens_in_links(text: str, is_known: Callable[[str], bool]) -> Iterator[str]:
    """Yield the names of tokens in the addresses of links. `is_known` says whether a token is filled in.

    An address without a label counts, because the chat makes a link of it.
    """
    found = list(_TOKEN.finditer(text))
    ends = {match.end(): match["name"].rstrip() for match in found}
    for target in list(_TARGET.finditer(text)):
        label = ends.get(target.start() + 1)
        if label is None or not is_known(label):
            yield from tokens(target[0])
            text = text[: target.start()] + " " * len(target[0]) + text[target.end() :]
    if _is_put_together(text):
        yield from (match["name"].rstrip() for match in found)
    starts = [match.start() for match in found]
    for address in BARE_ADDRESS.finditer(text):
        first, end = bisect_left(starts, address.start()), bisect_left(starts, address.end())
        yield from (match["name"].rstrip() for match in found[first:end])


def has_bare_address(text: str) -> bool:
    """Whether a text has an address without a label, or can have one once its tokens are filled in."""
    return BARE_ADDRESS.search(text) is not None or _is_put_together(text)


def _is_put_together(text: str) -> bool:
    """Whether tokens without a value make an address of what is around them, such as `https:/[name]/…`."""
    joined = _TOKEN.sub(lambda match: (match["fallback"] or "|")[1:], text)
    return len(BARE_ADDRESS.findall(joined)) > len(BARE_ADDRESS.findall(text))


def fill(
    text: str, text_of: Callable[[str], str | None], *, escape: Callable[[str], str] | None = None
) -> str:
    """Replace tokens by their values, in one pass: brackets inside a value remain.

    A token for which `text_of` returns None stays as written; an empty value is replaced by the token's
    fallback, if it has one. A value is cut after MAX_VALUE characters, and the text after MAX_FILLED, each
    with an ellipsis. `text_of` is called at most once for each token. `escape` removes the markup from each
    value, and the result is `Filled` unless it is cut. Without `escape` the result is plain text, which pages
    must escape, and the signs around an empty value stay. In the address of a link, values are
    percent-encoded.
    """
    targets = list(_TARGET.finditer(text)) if "](" in text else []
    inserted: dict[str, str | None] = {}

    def value_of(token: str) -> str | None:
        if token not in inserted:
            value = text_of(token)
            inserted[token] = None if value is None else shortened(value, MAX_VALUE)
        return inserted[token]

    pieces, values, addresses, template = list[str](), list[str](), list[str](), list[str]()
    keeps_template = not (escape is None or STAND_INS.search(text) or _IN_ADDRESSES.search(text))
    length = end = 0
    for match in _TOKEN.finditer(text):
        value = value_of(match["name"].rstrip())
        if value is None:
            continue
        while targets and targets[0].end() <= match.start():
            targets.pop(0)
        # A parenthesis after a value is no address.
        if targets and end and targets[0].start() == end - 1:
            targets.pop(0)
        is_in_link = bool(targets) and targets[0].start() < match.start()
        stand_ins = None
        if not value and match["fallback"]:
            value = match["fallback"][1:].strip()
            value = quote(value, safe="%") if is_in_link else value
        elif is_in_link:
            value = in_address(value, safe="@" if targets[0][0].startswith(_MAIL) else "")
            keeps_template &= _in_host(text[targets[0].start() : match.start()]) is None
            stand_ins = f"xqz{len(addresses)}zqx" if value else None
            addresses += filter(None, [value])
        elif value and escape:
            values.append(value)
            stand_ins = _stand_in(value[0]) + _stand_in(value[-1])
            value = escape(value)
        value = value or _NOTHING
        pieces += text[end : match.start()], value
        template += text[end : match.start()], value if stand_ins is None else stand_ins
        length += match.start() - end + len(value)
        end = match.end()
        if length > MAX_FILLED:
            break
    filled = "".join((*pieces, text[end:]))
    if escape is None:  # for programs, which get exactly what the author wrote around an empty value
        return within_limit(filled.replace(_NOTHING, ""))
    if not keeps_template or len(filled) > MAX_FILLED:
        return within_limit(_without_gaps(filled))
    form, begun = _begun_in_capitals("".join((*template, text[end:])), values)
    form = _without_gaps(form)
    made = Filled.of("", form, begun, addresses)
    return Filled.of(made.put_in(form, escape) or "", form, begun, addresses)


def joined(separator: str, texts: Sequence[str]) -> str:
    """Texts of one author, joined. The result is `Authored` or `Filled` if all of them are."""
    text = separator.join(texts)
    if all(type(each) is Authored for each in texts):
        return Authored(text)
    if not all(isinstance(each, Authored | Filled) for each in texts):
        return text
    if sum(isinstance(each, Filled) and bool(each.addresses) for each in texts) > 1:
        return text
    templates = (each.template if isinstance(each, Filled) else each for each in texts)
    values = [value for each in texts if isinstance(each, Filled) for value in each.values]
    addresses = [value for each in texts if isinstance(each, Filled) for value in each.addresses]
    return Filled.of(text, separator.join(templates), values, addresses)


def _stand_in(sign: str) -> str:
    return WORD if sign.isascii() and sign.isalnum() else OTHER


def _begun_in_capitals(template: str, values: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Values that follow an empty value at the beginning of a line begin it, so in capitals."""
    if _NOTHING not in template:
        return template, values
    begun = list(values)
    for found in _BEGINS_WITH_NOTHING.finditer(template):
        n = len(STAND_INS.findall(template[: found.start(1)]))
        begun[n] = begun[n][:1].upper() + begun[n][1:]
    return _BEGINS_WITH_NOTHING.sub(r"\1", template), begun


def _without_gaps(text: str) -> str:
    """The text without the space that an empty value leaves, as in “Thanks !”."""
    if _NOTHING not in text:
        return text
    for pattern, replacement in _AROUND_NOTHING:
        text = pattern.sub(replacement, text)
    return text


def for_many(text: str, words_of: Callable[[str], str | None]) -> str:
    """The text as a heading above many answers: each answer would fill its tokens differently.

    A token is replaced by its fallback if it has one, else by its words. An unknown token (None) without a
    fallback stays as written, as it does for respondents.
    """

    def replaced(match: regex.Match[str]) -> str:
        if match["fallback"]:
            return match["fallback"][1:].strip()
        words = words_of(match["name"].rstrip())
        return match[0] if words is None else words

    return _TOKEN.sub(replaced, text)


def within_limit(text: str) -> str:
    """A filled text, cut to at most MAX_FILLED characters with its ellipsis."""
    return text if len(text) <= MAX_FILLED else shortened(text, MAX_FILLED - 1)


def shortened(text: str, most: int) -> str:
    """The text, or its first `most` characters and an ellipsis."""
    return text if len(text) <= most else f"{text[:most]}{_ELLIPSIS}"


def rename(text: str, renames: Mapping[str, str], *, variables: Collection[str] | None = None) -> str:
    """Replace block names in tokens; for `renames` and `variables` see `expressions.rename`.

    Variables of prompts stay unchanged in any case.
    """

    def renamed(match: regex.Match[str]) -> str:
        name = match["name"].rstrip()
        if names.is_position(name) or _is_variable(name, variables):
            return match[0]
        new = renames.get(title_case(name))
        return match[0] if new is None else f"[{token_form(new)}{match['fallback'] or ''}]"

    return _TOKEN.sub(renamed, text)


def replace_positions(text: str, form_of: Callable[[str], str]) -> str:
    """Replace each token that is a position; its fallback remains."""

    def replaced(match: regex.Match[str]) -> str:
        name = match["name"].rstrip()
        return f"[{form_of(name)}{match['fallback'] or ''}]" if names.is_position(name) else match[0]

    return _TOKEN.sub(replaced, text)


def token_form(name: str) -> str:
    """A block's name in the spelling of tokens: in title case if it would be a position or a variable.

    No token can refer to a block named like a variable of prompts, such as `UserName`.
    """
    if names.is_position(name) or _is_variable(name, None):
        return title_case(name)
    return name.strip()


def is_prompt_variable(name: str) -> bool:
    """Whether a token of this name is a variable of prompts, and never a block."""
    return name.strip().lower() in PROMPT_VARIABLES


def _is_variable(name: str, variables: Collection[str] | None) -> bool:
    if is_prompt_variable(name):
        return True
    return names.looks_like_variable(name) if variables is None else name in variables
