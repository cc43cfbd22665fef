"""The page templates: they compile, refuse undefined names, escape values and keep to our layout."""

import re
from pathlib import Path

import jinja2
import pytest
from django.conf import settings
from django.template import engines

from config import templating
from tests.support.cases import try_each

LONGEST_LINE = 140
FOLDER = Path(settings.BASE_DIR) / "templates"
LINES = [
    (str(path.relative_to(FOLDER)), line)
    for path in sorted(FOLDER.rglob("*.*"))
    for line in path.read_text().splitlines()
]
BLOCK_TAG = re.compile(r"{%-?\s*(\w+)")


def test_every_template_compiles() -> None:
    templating.compile_all()


def test_an_undefined_name_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        engines["jinja2"].from_string("{{ nobody }}").render({})


def test_values_are_escaped() -> None:
    rendered = engines["jinja2"].from_string("{{ wrote }}").render({"wrote": "<b>"})

    assert rendered == "&lt;b&gt;"


def test_no_line_of_a_template_is_too_long() -> None:
    assert [(name, line) for name, line in LINES if len(line) > LONGEST_LINE] == []


def test_a_line_of_a_template_holds_one_block_tag_or_one_pair() -> None:
    """With an `else` in pages of staff, where a line break within a text would reach the page."""
    assert [
        (name, line)
        for name, line in LINES
        if not _is_one_tag_or_a_pair(BLOCK_TAG.findall(line), name.startswith(templating.OF_STAFF))
    ] == []


@try_each(
    ("source", "rendered"),
    [
        ("<ul>\n  <li>\n    {{ a }}\n  </li>\n</ul>", "<ul><li>1</li></ul>"),
        ('<a\n  class="b"\n  href="c">', '<a class="b" href="c">'),
        ('<a class="b"\n  {% if a %} hidden{% endif %}>\n', '<a class="b" hidden>'),
        ("{% if a %}\n  <b>\n{% else %}\n  <i>\n{% endif %}\n", "<b>"),
        ("<p>\n  One line\n  and {{ a }}\n  more.\n</p>", "<p>One line and 1 more.</p>"),
        ("<b>{{ a }}</b> <i>\n{{ a }} {% if a %}\n  <u>\n{% endif %}", "<b>1</b> <i>1 <u>"),
        ("<pre>{{ text }}</pre>", "<pre>two\n  lines</pre>"),
    ],
)
def test_line_breaks_next_to_tags_do_not_reach_the_page(source: str, rendered: str) -> None:
    environment = templating.environment(loader=jinja2.DictLoader({"page.html": source}))

    assert environment.get_template("page.html").render(a=1, text="two\n  lines") == rendered


def _is_one_tag_or_a_pair(tags: list[str], may_have_else: bool) -> bool:
    match tags:
        case [] | [_]:
            return True
        case [first, last]:
            return last == f"end{first}"
        case ["if", "else", "endif"]:
            return may_have_else
    return False
