"""Options that are more than a text, on the page without JavaScript."""

import pytest

from tests.support.surveys import scenario
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]

NONE = {"value": "None of these", "is_exclusive": True}


def test_an_exclusive_option_with_others_is_an_error_that_keeps_what_was_chosen():
    """Rule 6.150."""
    made = scenario.project(
        {"type": "multi_punch", "options": ["chess", "go", NONE], "min": 2, "required": True}
    )
    visitor = Visitor(made).look()
    chess, none = scenario.option_id(made, "q0", 0), scenario.option_id(made, "q0", 2)

    visitor.send(option=[chess, none])

    assert "“None of these” cannot be chosen together with others." in visitor.page
    for option_id in (chess, none):
        assert visitor.has_control(rf'value="{option_id}"[^>]* checked')
    assert visitor.has_control(rf'value="{none}"[^>]* data-exclusive')
    visitor.send(option=[none])
    assert scenario.answers_of(made) == [("Prompt 0.", "None of these")]
