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
        (TEXT, r'<textarea [^>]*aria-describedby="description help"'),
        ({"type": "open_numeric"}, r'<input class="entry" [^>]*aria-describedby="description help"'),
        ({**CHOICE, "answer_style": "select_menu"}, r'<select [^>]*aria-describedby="description help"'),
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
    visitor = Visitor(scenario.project({**SAYING, **BELOW}, TEXT)).look()

    visitor.send("go")

    assert "Prompt 0." in visitor.page
    assert "Below" not in visitor.page
    assert 'id="description"' not in visitor.page


def test_the_description_of_the_thanks_stands_below_them():
    made = scenario.project(TEXT)
    made.blocks.filter(section="outro").update(description="See you.")

    visitor = Visitor(made).look().send(value="x")

    assert re.search(r'<p class="more">\s*See you.', visitor.page)
