"""Our own pages' templates: all can be read, and none passes over a name that it misspells."""

import jinja2
import pytest
from django.template import engines

from config import templating


def test_every_template_compiles() -> None:
    templating.compile_all()


def test_a_name_that_is_not_there_is_an_error_and_no_blank() -> None:
    with pytest.raises(jinja2.UndefinedError):
        engines["jinja2"].from_string("{{ nobody }}").render({})


def test_what_somebody_wrote_is_escaped() -> None:
    drawn = engines["jinja2"].from_string("{{ wrote }}").render({"wrote": "<b>"})

    assert drawn == "&lt;b&gt;"
