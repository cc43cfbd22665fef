"""Where one click on a choice goes on (rule 6.177). `tests/browser/test_settings.py` clicks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]
RATING = {"type": "rating"}
SEVERAL = {"type": "multi_punch", "options": ["a", "b"]}


@pytest.mark.parametrize(
    ("first", "fields", "expected"),
    [
        (CHOICE, {}, True),
        (RATING, {}, True),
        ({"type": "nps"}, {}, True),
        ({**CHOICE, "answer_style": "buttons"}, {}, True),
        ({**CHOICE, "answer_style": "select_menu"}, {}, False),
        ({**RATING, "answer_style": "select_menu"}, {}, False),
        (SEVERAL, {}, False),
        (TEXT, {}, False),
        (CHOICE, {"advance_on_choice": False}, False),
        ({**CHOICE, "when_correct": "Yes!"}, {"scoring_enabled": True}, False),
        ({**CHOICE, "when_correct": "Yes!"}, {"scoring_enabled": False}, True),
    ],
)
def test_one_choice_goes_on_but_not_to_feedback(first: Any, fields: Any, expected: bool) -> None:
    made = scenario.project(first, TEXT, participation="open_web", **fields)

    assert Visitor(made).look().has_control("data-moves-on") == expected


@pytest.mark.parametrize(("review", "expected"), [(False, False), (True, True)])
def test_the_last_question_is_sent_by_the_button_unless_a_review_follows(
    review: bool, expected: bool
) -> None:
    made = scenario.project(CHOICE, participation="open_web", review=review)

    assert Visitor(made).look().has_control("data-moves-on") == expected


def test_a_vote_is_cast_by_the_button() -> None:
    made = scenario.poll(participation="open_web")

    assert not Visitor(made).look().has_control("data-moves-on")
