"""Jinja, in which our own pages are written: compiled once, and strict about names."""

from functools import cache
from typing import Any, cast

import jinja2
from django.template import engines
from django.template.backends.jinja2 import Jinja2
from django.templatetags.static import static
from django.urls import reverse


def environment(**options: Any) -> jinja2.Environment:
    """The setting TEMPLATES calls this. A name that a template does not find is an error, not a blank."""
    made = jinja2.Environment(**options | {"undefined": jinja2.StrictUndefined})
    # The address of a static file does not change while a process lives.
    made.globals |= {"static": cache(static), "url": reverse}
    return made


def compile_all() -> None:
    """Compile every template now, not in the first request of each worker."""
    engine = cast(Jinja2, engines["jinja2"])
    for name in engine.env.list_templates():
        engine.env.get_template(name)
