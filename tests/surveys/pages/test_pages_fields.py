"""Fields of blocks on the page: descriptions, formats, whole numbers and groups."""

import re

import pytest

from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]

BELOW = {"description": "Below <b>."}
SHOWN = '<p id="description" class="text description"'


@pytest.mark.parametrize(
    ("block", "control"),
    [
        (TEXT, r'<textarea [^>]*aria-describedby="description"'),
        ({"type": "open_numeric"}, r'<input class="entry" [^>]*aria-describedby="description help"'),
        ({**CHOICE, "answer_style": "select_menu"}, r'<select [^>]*aria-describedby="description"'),
        (CHOICE, r'<fieldset\s+aria-describedby="description"'),
        ({**CHOICE, "type": "multi_punch"}, r'<fieldset\s+aria-describedby="description help"'),
        (SAYING, r'<h2 id="question"'),
    ],
)
def test_a_description_stands_below_the_prompt_and_describes_the_control(block, control):
    """Rule 6.130."""
    visitor = Visitor(scenario.project({**block, **BELOW}, TEXT)).look()

    assert SHOWN in visitor.page
    assert "Below &lt;b&gt;." in visitor.response.content.decode()
    assert visitor.page.index("Prompt 0.") < visitor.page.index(SHOWN)
    assert re.search(control, visitor.page)


def test_past_steps_and_pages_without_a_description_have_none():
    """Rule 6.130."""
    visitor = Visitor(scenario.project({**TEXT, **BELOW}, TEXT)).look()

    visitor.send(value="Because.")

    assert "Prompt 0." in visitor.page
    assert "Below" not in visitor.page
    assert 'id="description"' not in visitor.page


# --- Whole numbers and formats ------------------------------------------------------------------------

DAY = {"type": "open_text", "format": "date"}


@pytest.mark.parametrize(
    ("fields", "inputmode"),
    [
        ({"whole": True}, "numeric"),
        ({"whole": True, "min": 0}, "numeric"),
        ({"whole": True, "min": -1}, None),
        ({"min": 0}, "decimal"),
        ({}, None),
    ],
)
def test_a_number_gets_the_keyboard_with_the_signs_that_it_may_need(fields, inputmode):
    page = Visitor(scenario.project({"type": "open_numeric", **fields})).look().page

    assert re.findall(r' inputmode="(\w+)"', page) == ([inputmode] if inputmode else [])


def test_a_fraction_is_refused_where_whole_numbers_are_asked_for_and_kept_in_its_field():
    """Rule 6.131."""
    made = scenario.project({"type": "open_numeric", "whole": True}, TEXT)

    visitor = Visitor(made).look().send(value="3.5")

    assert visitor.status == 422
    assert "Answer with a whole number, such as 3." in visitor.page
    assert 'value="3.5"' in visitor.page
    visitor.send(value="3.0")
    assert scenario.answers_of(made) == [("Prompt 0.", "3")]


@pytest.mark.parametrize(
    ("format_", "control"),
    [
        ("line", r'type="text" value=""\s+autocomplete="off"[\s>]'),
        ("email", r'type="email" value=""\s+autocomplete="email" aria-describedby="help"'),
        ("url", r'type="url" value=""\s+autocomplete="url" aria-describedby="help"'),
        ("phone", r'type="tel" value=""\s+autocomplete="tel" aria-describedby="help"'),
        (
            "date",
            r'type="date" value=""\s+autocomplete="off"\s+placeholder="2026-01-31"',
        ),
    ],
)
def test_each_format_has_its_keyboard_or_picker(format_, control):
    """Rule 6.132."""
    page = Visitor(scenario.project({"type": "open_text", "format": format_})).look().page

    assert re.search(f'<input class="entry line" id="field" name="value" {control}', page)
    assert "<textarea" not in page


def test_another_answer_is_told_once_at_the_field_and_kept_there():
    """Rule 6.132."""
    made = scenario.project({**DAY, "required": True}, TEXT)

    visitor = Visitor(made).look().send(value="31.1.2026")

    assert visitor.status == 422
    assert visitor.page.count("Answer with a date, such as 2026-01-31.") == 1
    assert visitor.has_control('id="field-error" class="error">.*Answer with a date, such as 2026-01-31.</p>')
    # A control for dates alone would not show what was typed
    assert re.search(
        r'type="text" value="31\.1\.2026"\s+autocomplete="off" aria-describedby="help field-error"',
        visitor.page,
    )
    visitor.send(value="2026-01-31")
    assert scenario.answers_of(made) == [("Prompt 0.", "2026-01-31")]


@pytest.mark.parametrize(("value", "typed"), [("2026-01-31", "2026-01-31"), ("tomorrow", "")])
def test_an_address_fills_in_what_fits_the_format(value, typed):
    """Rule 6.132."""
    page = Visitor(scenario.project(DAY)).look(f"?q0={value}").page

    assert f'type="date" value="{typed}"' in page
