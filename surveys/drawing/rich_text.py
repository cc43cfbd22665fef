"""Authors' texts as HTML: their Markdown, and nothing else that a text may contain (rule 6.135)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import nh3
from markupsafe import Markup, escape

from surveys.engine.language import markup
from surveys.engine.language.markup import Part

_CLEANER = nh3.Cleaner(
    tags={"strong", "em", "a", "span"},
    attributes={"a": {"href"}, "span": {"class", "role"}},
    url_schemes=set(markup.SCHEMES),
    set_tag_attribute_values={"a": {"target": "_blank"}},
    link_rel="noopener",
)
_TAGS = {
    "strong_open": "<strong>",
    "strong_close": "</strong>",
    "em_open": "<em>",
    "em_close": "</em>",
    "link_close": "</a>",
}
OF_NO_LANGUAGE = Markup('lang="" dir="auto"')
_LATIN_LETTER = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
# Languages with other letters than Latin ones, or with both. All other languages count as Latin.
_OTHER_LETTERS = frozenset(
    re.findall(
        r"\w+",
        "am ar as ba be bg bn bo chr ckb cv dv dz el fa gu he hi hy iu ja ka kk km kn ko ks ky lo mk ml mn "
        "mr my ne or os pa ps ru sa sd sh si sr ta te tg th ti tk tt ug uk ur uz yi yue zh",
    )
)


class Written(Protocol):
    """A page whose texts are in the language `lang`, which `text_attributes` name."""

    @property
    def lang(self) -> str: ...
    @property
    def text_attributes(self) -> Markup: ...


def attributes_of(text: str, page: Written) -> Markup:
    """The attributes of the element with this text of a page: its language and direction.

    They contain no language that is written in other letters than the text. Templates use this as a filter,
    which costs less than the call of a method.
    """
    if text.isascii() or _LATIN_LETTER.search(text) or page.lang.lower().partition("-")[0] in _OTHER_LETTERS:
        return page.text_attributes
    return OF_NO_LANGUAGE if any(letter.isalpha() for letter in text) else page.text_attributes


def rich(text: str) -> Markup:
    """The HTML of a text. It has no blocks, so that it may stand in headings and labels."""
    return Markup(markup.rendered(text, _html, as_typed=escape))


def _html(text: str) -> str:
    return _CLEANER.clean("".join(map(_run, markup.parts(text))))


def _run(run: Sequence[Part]) -> str:
    if not run[0].is_item:
        return _inline(run[0].text)
    items = (
        f'<span class="item{" numbered" if item.sign else ""}" role="listitem">'
        f"{item.sign + ' ' if item.sign else ''}{_inline(item.text)}</span>"
        for item in run
    )
    return f'<span class="list" role="list">{"".join(items)}</span>'


def _inline(text: str) -> str:
    return "".join(
        f'<a href="{escape(token.attrs["href"])}">'
        if token.type == "link_open"
        else _TAGS.get(token.type) or escape(token.content)
        for token in markup.inline(text)
    )
