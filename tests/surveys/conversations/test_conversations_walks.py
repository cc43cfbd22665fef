"""A walk with steps back, through the service, leaves the same rows as a straight walk."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.effort import examples
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db

BLOCKS = (
    {**CHOICE, "name": "A"},
    {"type": "multi_punch", "options": ["x", "y", "z"], "name": "B", "precondition": 'A = "red"'},
    {**SAYING, "precondition": '"x" in B'},
    {**TEXT, "name": "C", "precondition": "NOT(B) AND A"},
    {"type": "open_numeric", "name": "D"},
    {"type": "ranking", "options": ["p", "q"], "name": "E", "precondition": "D > 1"},
)
PLACES = {
    "single_punch": st.sampled_from([0, 1]),
    "multi_punch": st.lists(st.integers(0, 2), min_size=1, unique=True),
}
SAID = {
    **PLACES,
    "open_text": st.sampled_from("ab"),
    "open_numeric": st.integers(0, 3),
    "ranking": st.permutations([0, 1]),
}


@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_stored_rows_are_those_of_the_straight_walk(data):
    made = scenario.project(*BLOCKS)
    told, final = scenario.begin(made), {}
    wandering = data.draw(st.integers(0, 12))

    while told.step is not None:
        step, wandering = told.step, wandering - 1
        if wandering > 0 and step.can_go_back and data.draw(st.booleans()):
            told = scenario.back(told)
        elif step.block.type == "content_block":
            told = scenario.go_on(told)
        else:
            final[step.block.name] = said = data.draw(st.none() | SAID[step.block.type])
            told = scenario.say(told, said)
        assert scenario.counts(made) == scenario.recounted(made)

    straight = scenario.begin(made)
    while straight.step is not None:
        block = straight.step.block
        straight = (
            scenario.go_on(straight) if block.name not in final else scenario.say(straight, final[block.name])
        )
    assert scenario.stored(told) == scenario.stored(straight)
    assert told.state.replies == straight.state.replies
