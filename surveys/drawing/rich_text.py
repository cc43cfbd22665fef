"""Authors' texts as HTML: their Markdown, and nothing else that a text may contain (rule 6.135)."""

from __future__ import annotations

from collections.abc import Sequence

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
