"""Authors' texts as HTML: their Markdown, and nothing else that a text may contain (rule 6.135).

Most texts have no markup, and are only escaped. The HTML of others is kept if the text is all its author's: a
filled text has the words of its respondent.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import nh3
from cachetools import LRUCache, cached
from markupsafe import Markup, escape

from surveys.engine.language import markup
from surveys.engine.language.markup import Part
from surveys.engine.language.piping import Authored

MAX_KEPT = 2_000_000  # characters of HTML in a process
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


def rich(text: str) -> Markup:
    """The HTML of a text. It has no blocks, so that it may stand in headings and labels."""
    if not markup.is_marked(text):
        return escape(text)
    return _kept(text) if type(text) is Authored else _html(text)


def _html(text: str) -> Markup:
    return Markup(_CLEANER.clean("".join(map(_run, markup.parts(text)))))


@cached(LRUCache(MAX_KEPT, getsizeof=len), key=str, lock=Lock())
def _kept(text: str) -> Markup:
    return _html(text)


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
