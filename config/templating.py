"""The Jinja environment for our own pages: templates are compiled once and undefined names are errors."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import jinja2
from django.template import engines
from django.template.backends.jinja2 import Jinja2
from django.template.loaders import app_directories
from django.templatetags.static import static
from django.urls import reverse
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

from communities.ground.translation import language, say
from communities.ground.words import amount
from surveys.drawing.rich_text import attributes_of, rich

MARKUP = (".html", ".svg")
# The names of the admin's templates begin with this text. Django's engine renders these templates.
OF_STAFF = "staff/"
INCLUDE = re.compile(r'\{% include "([^"]+)" %\}')
INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)
BREAK_AT_TAG = re.compile(r"(?<=>)\n+|(?<!\n)\n+(?=[<>])")
BREAK = re.compile(r"\n+")


class AppLoader(app_directories.Loader):
    """Finds Django's own templates, and none of django-allauth's, because all pages there use our
    templates.
    """

    def get_dirs(self) -> list[str | Path]:
        return [each for each in super().get_dirs() if "allauth" not in Path(each).parts]


class CompactMarkup(Extension):
    """Prepares templates when they are compiled: inlines partials, and removes indentation and line breaks.

    A partial included by a literal name becomes part of the template that includes it. A partial that is
    rendered alone takes 14 µs each time, and a page has about ten.

    The rule is the same as in JSX: a line break next to a tag (HTML or Jinja) disappears, and any other line
    break becomes one space. Write a space that matters next to a tag within the line, `{{ name }} <b>`, or as
    `{{ " " }}`.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        if not _is_markup(name):
            return source
        if self.environment.auto_reload:  # With DEBUG, Jinja must notice an edited partial.
            return INDENTATION.sub("", source)
        source = INCLUDE.sub(lambda include: self._partial(include[1]), source)
        return INDENTATION.sub("", source)

    def _partial(self, name: str) -> str:
        loader = self.environment.loader
        assert loader is not None
        source, _, _ = loader.get_source(self.environment, name)
        return self.preprocess(source, name)

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type != "data" or not _is_markup(stream.name):
                yield token
                continue
            text = token.value.rstrip("\n") if stream.current.type == "block_begin" else token.value
            yield Token(token.lineno, "data", BREAK.sub(" ", BREAK_AT_TAG.sub("", text)))


def environment(**options: Any) -> jinja2.Environment:
    """Return the environment for the setting TEMPLATES. An undefined name in a template is an error, not a
    blank.
    """
    layout = {"trim_blocks": True, "lstrip_blocks": True, "extensions": [CompactMarkup]}
    escapes = {"autoescape": _escapes}
    created = jinja2.Environment(**options | layout | escapes | {"undefined": jinja2.StrictUndefined})
    # The addresses are cached, because the address of a static file does not change at runtime.
    created.globals |= {"static": cache(static), "url": reverse, "language": language, "say": say}
    created.filters |= {"rich": rich, "amount": amount, "attributes_of": attributes_of}
    return created


def compile_all() -> None:
    """Compile every template now, and not in the first request of each worker."""
    engine = cast(Jinja2, engines["jinja2"])
    for name in engine.env.list_templates():
        if not name.startswith(OF_STAFF):
            engine.env.get_template(name)


def _escapes(name: str | None) -> bool:
    """Return whether values are escaped in a template. They are not escaped in the plain text of mails."""
    return name is None or not name.endswith(".txt")


def _is_markup(name: str | None) -> bool:
    return name is not None and name.endswith(MARKUP)
