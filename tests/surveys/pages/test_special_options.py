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


OTHER = {"value": "Other", "is_other": True}


@pytest.mark.parametrize("style", [None, "select_menu", "buttons"])
def test_a_text_of_ones_own_is_asked_for_beside_the_options(style):
    """Rules 6.152 to 6.154."""
    made = scenario.project(
        {"type": "single_punch", "options": ["chess", OTHER], "answer_style": style, "required": True},
        {"type": "content_block", "prompt": "You play [Q0]."},
    )
    visitor = Visitor(made).look()
    other = scenario.option_id(made, "q0", 1)

    visitor.send(option=other, other=" ")
    assert "Write your answer to “Other”." in visitor.page
    visitor.send(option=other, other="x" * 501)
    assert visitor.has_control(r'name="other"[^>]* value="x{501}"')
    visitor.send(option=other, other="<b>Go</b> & [q0]")

    assert "You play <b>Go</b> & [q0]." in visitor.page
    assert "&lt;b&gt;Go" in visitor.response.content.decode()
    visitor.send("back")
    assert visitor.has_control(r'name="other"[^>]* value="<b>Go</b> & \[q0\]"')


@pytest.mark.parametrize(
    ("type", "chosen", "stored"),
    [
        ("single_punch", [], ["Other"]),
        ("single_punch", [0], ["chess"]),
        ("multi_punch", [], ["Other"]),
        ("multi_punch", [0], ["chess", "Other"]),
    ],
)
def test_who_writes_a_text_has_chosen_its_option(type, chosen, stored):
    """Rules 6.153 and 6.154."""
    made = scenario.project({"type": type, "options": ["chess", OTHER]}, {"type": "open_text"})
    visitor = Visitor(made).look()

    visitor.send(option=[scenario.option_id(made, "q0", n) for n in chosen], other="Go")

    assert [value for _, value in scenario.answers_of(made)] == stored
    read = ", ".join("Other: Go" if each == "Other" else each for each in stored)
    assert f"<span>{read}</span>" in visitor.page
